package secret_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/secret"
)

func TestDefinition(t *testing.T) {
	for _, tt := range []struct{ row, want string }{
		{`{}`, `{}`},
		{`{"command":"x","args":["a","--b=c"],"cwd":"~/d"}`, `{"command":"x","args":["a","--b=c"],"cwd":"~/d"}`},
		{`{"env":{"A":"s","B":"","C":true,"D":{"s":"s"}}}`, `{"env":{"A":"<secret>","B":"","C":"<secret>","D":"<secret>"}}`},
		{`{"env":{"A":"${A}","B":"s${B}s","C":"${C:-s}","D":"${D:-${E:-s}}","F":"$${s}","G":"${s"}}`,
			`{"env":{"A":"${A}","B":"<secret>${B}<secret>","C":"${C:-<secret>}","D":"${D:-${E:-<secret>}}","F":"<secret>","G":"${s"}}`},
		{`{"env":{"A":"${cmd:pass show a:-b}","B":"${file:~/x}"}}`, `{"env":{"A":"${cmd:pass show a:-b}","B":"${file:~/x}"}}`},
		{`{"env":"s"}`, `{"env":"<secret>"}`},
		{`{"headers":{"Authorization":"Bearer s","B":"basic ${X}","C":"token"}}`,
			`{"headers":{"Authorization":"Bearer <secret>","B":"basic ${X}","C":"<secret>"}}`},
		{`{"url":"https://u:s@h/p?a=s&b=${B}&c#s"}`, `{"url":"https://<secret>@h/p?a=<secret>&b=${B}&c#<secret>"}`},
		{`{"url":"https://h/p?token&x="}`, `{"url":"https://h/p?token&x="}`},
		{`{"args":["--token","s3cret","--token=s3cret","TOKEN=s3cret","ghp_0123456789abcdefghij","-v"]}`,
			`{"args":["--token","<secret>","--token=<secret>","TOKEN=<secret>","<secret>","-v"]}`},
		{`{"args":["--token","${TOKEN}",5]}`, `{"args":["--token","${TOKEN}",5]}`},
		{`{"args":["https://u:s3cret@h/"]}`, `{"args":["https://u:<secret>@h/"]}`},
		{`{"env":{"B":"${cmd:echo {}; echo ${X}}s"}}`, `{"env":{"B":"${cmd:echo {}; echo ${X}}<secret>"}}`},
		{`{"oauth":{"clientId":"c","clientSecret":"s"},"tls":{"key":"me.key"},"authorization":"forward"}`,
			`{"oauth":{"clientId":"c","clientSecret":"<secret>"},"tls":{"key":"me.key"},"authorization":"forward"}`},
		{`{"authorization":"Bearer s3cret"}`, `{"authorization":"Bearer <secret>"}`},
		{`{"oauth":{"client_secret":"s","list":[{"token":"s"},["sk-0123456789abcdef0"]],"n":9007199254740993}}`,
			`{"oauth":{"client_secret":"<secret>","list":[{"token":"<secret>"},["<secret>"]],"n":9007199254740993}}`},
	} {
		if got := string(secret.Definition(json.RawMessage(tt.row))); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.row, got, tt.want)
		}
	}
}

func TestInDefinition(t *testing.T) {
	for _, tt := range []struct{ row, want string }{
		{`{"env":{"GITHUB_TOKEN":"abcdef","api_key":"abcdef","DbPassword":"abcdef","X":"ghp_0123456789abcdefghij","URL":"pg://u:abcdef@h/d"}}`,
			"env GITHUB_TOKEN, env api_key, env DbPassword, env X, env URL"},
		{`{"env":{"TOKEN":"${TOKEN}","TOKEN_FILE":"/run/token","MAX_TOKENS":"100000","AUTH_MODE":"oauth2x","KEY":"short","LOG":"debug-all"}}`, ""},
		{`{"headers":{"Authorization":"Bearer abcdef","X-Api-Key":"abcdef","Accept":"text/plain"}}`, "header Authorization, header X-Api-Key"},
		{`{"headers":{"Authorization":"Bearer ${TOKEN}"}}`, ""},
		{`{"oauth":{"clientId":"abcdef","clientSecret":"abcdef","privateKeyId":"abcdef","identityProvider":{"issuer":"https://h","clientSecret":"abcdef"}}}`,
			"oauth clientSecret, oauth clientSecret"},
		{`{"oauth":{"clientSecret":"${SECRET}","privateKey":"${file:k.pem}","subjectToken":"${cmd:x}"}}`, ""},
		{`{"oauth":false}`, ""},
		{`{"url":"https://h/mcp?api_key=abcdef"}`, "the URL"},
		{`{"url":"https://u:abcdef@h/mcp"}`, "the URL"},
		{`{"url":"https://h/mcp?api_key=${KEY}&page=second"}`, ""},
		{`{"args":["--api-key","abcdef"]}`, "an argument"},
		{`{"args":["-y","--tokenizer","--api-key","--verbose","/path/to/token"]}`, ""},
		{`{"args":"abcdef","env":5,"headers":[],"url":null}`, ""},
	} {
		var where []string
		for _, p := range secret.FindInDefinition(json.RawMessage(tt.row)) {
			where = append(where, p.Where)
		}
		if got := strings.Join(where, ", "); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.row, got, tt.want)
		}
	}
}
