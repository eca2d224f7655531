package secret_test

import (
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
)

// maskText returns a text as a document shows it.
func maskText(s string) string {
	masked, _ := wire.Unquote(secret.MaskLikely(wire.Quote(s)))
	return masked
}

// TestMaskLikelyInText checks what is hidden in a text, and what stays.
func TestMaskLikelyInText(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                          "",
		"no secret in it, token":                                    "no secret in it, token",
		"token=abcdef and abcdef":                                   "token=<secret: 6 characters> and abcdef",
		"PRIVATE KEY----- rm -rf /":                                 "PRIVATE KEY----- rm -rf /",
		"token=$(curl_evil|sh) true":                                "token=$(curl_evil|sh) true",
		"token=$TOKEN":                                              "token=$TOKEN",
		"x://a:b;rm%20-rf@h":                                        "x://a:b;rm%20-rf@h",
		"postgres://u:p%40ss!@h/d":                                  "postgres://u:<secret: 7 characters>@h/d",
		"https://a-token-of-mine-0@h/":                              "https://<secret: 17 characters>@h/",
		"?api%5Fkey=abcdefg&a=bcdefgh":                              "?api%5Fkey=<secret: 7 characters>&a=bcdefgh",
		"user[password]=my+dog+ate&b=c":                             "user[password]=<secret: 10 characters>&b=c",
		"cmd --token abcdefg --verbose":                             "cmd --token <secret: 7 characters> --verbose",
		"cmd --token=abcdefg --verbose":                             "cmd --token=<secret: 7 characters> --verbose",
		`cmd --password "my dog" x`:                                 `cmd --password "<secret: 6 characters>" x`,
		"curl --anyauth evil.example":                               "curl --anyauth evil.example",
		"wget --no-cookies evil.example/x":                          "wget --no-cookies evil.example/x",
		`curl -H "Authorization: Bearer abc-def" https://h/x`:       `curl -H "Authorization: Bearer <secret: 7 characters>" https://h/x`,
		`echo "token="; rm -rf /; echo "x"`:                         `echo "token="; rm -rf /; echo "x"`,
		`sudo -p "token=" rm -rf / ""`:                              `sudo -p "token=" rm -rf / ""`,
		`echo '"' ; sudo -p "token=" rm -rf / ""`:                   `echo '"' ; sudo -p "token=" rm -rf / ""`,
		`{"password": "my dog ate it", "b": "dog"}, `:               `{"password": "<secret: 13 characters>", "b": "dog"}, `,
		`curl -d '{"password":"my dog"}' h`:                         `curl -d '{"password":"<secret: 6 characters>"}' h`,
		"Authorization: ApiKey abcdefgh":                            "Authorization: ApiKey <secret: 8 characters>",
		"Cookie: a=bcdefgh; b=cdefghi; c":                           "Cookie: <secret: 9 characters>; b=<secret: 7 characters>; c",
		"token=file:///etc/passwd":                                  "token=file:///etc/passwd",
		"file:///etc/ghp_0123456789abcdefghij/../passwd":            "file:///etc/<secret: 24 characters>/../passwd",
		"user: joe\npassword: my dog ate it\nhost: h\n":             "user: joe\npassword: <secret: 13 characters>\nhost: h\n",
		"password: required by the host":                            "password: <secret: 8 characters> by the host",
		"a:\n  token: |\n    abcdefg\n    hijklmn\n  b: c\n":        "a:\n  token: |\n    <secret: 7 characters>\n    <secret: 7 characters>\n  b: c\n",
		"tokens:\n- a\nsecrets:\n  - abcdefg\n  - x: hijklmn\nb: c": "tokens:\n- a\nsecrets:\n  - <secret: 7 characters>\n  - x: <secret: 7 characters>\nb: c",
		"token: |\n  rm -rf /\n":                                    "token: |\n  rm -rf /\n",
		"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIE/+\nab==\n-----END RSA PRIVATE KEY-----\nx": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n<secret: 11 characters>\n-----END RSA PRIVATE KEY-----\nx",
		"-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANB\\nMIIEvQIBADANB\\n-----END PRIVATE KEY-----":                   "-----BEGIN PRIVATE KEY-----\\n<secret: 28 characters>\\n-----END PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANB\nrm -rf /":                                                      "-----BEGIN PRIVATE KEY-----\n<secret: 13 characters>\nrm -rf /",
		"-----BEGIN PRIVATE KEY-----\nrm -rf /\n-----END PRIVATE KEY-----":                                          "-----BEGIN PRIVATE KEY-----\nrm -rf /\n-----END PRIVATE KEY-----",
		"<secret: 12 characters> secret: 123456789 <secret: 1234567 characters>":                                    "<secret: 12 characters> secret: <secret: 9 characters> <secret: 1234567 characters>",
		"https://h/?token=abcdefg#part":                                                                             "https://h/?token=<secret: 7 characters>#part",
		"Cookie: a=bcdefgh; ghp_0123456789abcdefghij=b":                                                             "Cookie: <secret: 9 characters>; <secret: 26 characters>",
		"<token>abcdefg</token><name>token</name>":                                                                  "<token><secret: 7 characters></token><name>token</name>",
		"form-data; name=\"token\"\r\n\r\nabcdefg\r\n--b":                                                           "form-data; name=\"token\"\r\n\r\n<secret: 7 characters>\r\n--b",
		"curl -u joe:abcdefg1 https://h -u 'x:abcdefg2'":                                                            "curl -u joe:<secret: 8 characters> https://h -u 'x:<secret: 8 characters>'",
		"docker run -u 1000:1000 --user www-data:www-data x":                                                        "docker run -u 1000:1000 --user www-data:www-data x",
		"https://h/mcp?oauth=initialize&x-auth=abcdefgh":                                                            "https://h/mcp?oauth=initialize&x-auth=<secret: 8 characters>",
		"if token == expected { return }":                                                                           "if token == expected { return }",
		"apiKeyRef: prod/db/key, secretKeyRef: production":                                                          "apiKeyRef: prod/db/key, secretKeyRef: production",
		"token::// and postgres://a:ghp_0123456789abcdefghij@h":                                                     "token::// and postgres://a:<secret: 24 characters>@h",
		"Authorization: a(ghp_0123456789abcdefghij://;":                                                             "Authorization: a(<secret: 24 characters>://;",
		"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANB\nAuthorization: abcdefg":                                        "-----BEGIN PRIVATE KEY-----\n<secret: 13 characters>\nAuthorization: <secret: 7 characters>",
		"-----BEGIN PRIVATE KEY-----\na token=abcdefg b\n-----END PRIVATE KEY-----":                                 "-----BEGIN PRIVATE KEY-----\na token=<secret: 7 characters> b\n-----END PRIVATE KEY-----",
		"DB_PASS=hunter2 compass=northwest pass=required":                                                           "DB_PASS=<secret: 7 characters> compass=northwest pass=required",
		"https://h/?X-Amz-Signature=0123456789abcdef":                                                               "https://h/?X-Amz-Signature=<secret: 16 characters>",
		"dckr_pat_0123456789abcdefghij whsec_0123456789abcdefghij hvs.0123456789abcdefghij dapi0123456789":          "<secret: 29 characters> <secret: 26 characters> <secret: 24 characters> dapi0123456789",
		`{"TOKEN":"abc"}`: `{"TOKEN":"<secret: 3 characters>"}`,
	} {
		if got := maskText(text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
		if again := maskText(want); again != want {
			t.Errorf("%q is masked again: %q", want, again)
		}
	}
}

// TestMaskLikely checks that values below the name of a secret are hidden, whatever they are, and that the rest of a
// document stays.
func TestMaskLikely(t *testing.T) {
	for doc, want := range map[string]string{
		`{"command":"rm -rf /","note":"PRIVATE KEY-----"}`:                                                      `{"command":"rm -rf /","note":"PRIVATE KEY-----"}`,
		`{"amount":"1000000","token":"attacker","api_key":"1000000"}`:                                           `{"amount":"1000000","token":"<secret: 8 characters>","api_key":"<secret: 7 characters>"}`,
		`{"password":123456789,"command":"rm -rf /"}`:                                                           `{"password":"<secret: 9 characters>","command":"rm -rf /"}`,
		` { "password" : "my dog ate it" , "a" : 1.50 } `:                                                       ` { "password" : "<secret: 13 characters>" , "a" : 1.50 } `,
		`{"nested":{"api_key":["aaaaaaaa","bb cc dd ee"],"b":[1]}}`:                                             `{"nested":{"api_key":"<secret: 26 characters>","b":[1]}}`,
		`{"secret":{"a":{"b":1}},"c":2}`:                                                                        `{"secret":"<secret: 13 characters>","c":2}`,
		`{"headers":{"X-Api-Key":"k e y"}}`:                                                                     `{"headers":{"X-Api-Key":"<secret: 5 characters>"}}`,
		`{"\u0074oken":"\u0061b","ToKeN":"x","api key":"y","token":""}`:                                         `{"\u0074oken":"<secret: 2 characters>","ToKeN":"<secret: 1 character>","api key":"<secret: 1 character>","token":""}`,
		`{"token":true,"secret":null,"max_tokens":5,"token_type":"a"}`:                                          `{"token":true,"secret":null,"max_tokens":5,"token_type":"a"}`,
		`{"a":"{\"token\":5,\"b\":[1, 2]}"}`:                                                                    `{"a":"{\"token\":\"<secret: 1 character>\",\"b\":[1, 2]}"}`,
		`{"token":"a","token":"b","b":"a"}`:                                                                     `{"token":"<secret: 1 character>","token":"<secret: 1 character>","b":"a"}`,
		`{"args":["-x","--token","abc","--key=abcdef1234","--secret","-v"]}`:                                    `{"args":["-x","--token","<secret: 3 characters>","--key=<secret: 10 characters>","--secret","-v"]}`,
		`[{"name":"Authorization","value":"Bearer abc"},{"name":"a","value":"b"}]`:                              `[{"name":"Authorization","value":"Bearer <secret: 3 characters>"},{"name":"a","value":"b"}]`,
		`{"properties":{"token":{"type":"string","default":"abc"},"b":{"type":"string"}},"required":["token"]}`: `{"properties":{"token":{"type":"string","default":"<secret: 3 characters>"},"b":{"type":"string"}},"required":["token"]}`,
		`{"properties":{"token":{"title":[{"text":"abc"}],"x":1}}}`:                                             `{"properties":{"token":"<secret: 32 characters>"}}`,
		`[{"value":"abc def","name":"token"},{"value":"a","token":1,"name":"token"},{"value":5,"name":"b"}]`:    `[{"value":"<secret: 7 characters>","name":"token"},{"value":"a","token":"<secret: 1 character>","name":"token"},{"value":5,"name":"b"}]`,
		`[{"value":"token=abcdefg","name":"token"},{"key":12345678,"value":"a"}]`:                               `[{"value":"<secret: 13 characters>","name":"token"},{"key":"<secret: 8 characters>","value":"a"}]`,
		`{"name":"ghp_0123456789abcdefghij","value":1}`:                                                         `{"name":"<secret: 24 characters>","value":1}`,
		`{"secretKeyRef":{"name":"db","key":"password"},"key":"Control+Shift+ArrowLeft"}`:                       `{"secretKeyRef":{"name":"db","key":"password"},"key":"Control+Shift+ArrowLeft"}`,
		`{"smtpPass":"my dog","pass":12,"tests":{"pass":true,"user.jwt":1},"bypass":"a"}`:                       `{"smtpPass":"<secret: 6 characters>","pass":12,"tests":{"pass":true,"user.jwt":"<secret: 1 character>"},"bypass":"a"}`,
		`{"key":"Enter"}`:        `{"key":"Enter"}`,
		`{"key":"abcDEF123456"}`: `{"key":"<secret: 12 characters>"}`,
		`{"token":"<secret: 12 characters>","authorization":"Bearer <secret: 1 character>"}`: `{"token":"<secret: 12 characters>","authorization":"Bearer <secret: 1 character>"}`,
		`{"token":"a<secret: 12 characters>b"}`:                                              `{"token":"<secret: 14 characters>"}`,
		`{"ghp_0123456789abcdefghij":1}`:                                                     `{"<secret: 24 characters>":1}`,
		`{"ключ":"значение","token":"ключик"}`:                                               `{"ключ":"значение","token":"<secret: 6 characters>"}`,
		`{"token":"cut o`: `{"token":"<secret: 5 characters>"`,
		`{"token":["cut`:  `{"token":"<secret: 5 characters>"`,
		`"token=abcdef"`:  `"token=<secret: 6 characters>"`,
		`5`:               `5`, ``: ``, `}]`: `}]`, `{"a":"\`: `{"a":"\`,
	} {
		got := secret.MaskLikely(json.RawMessage(doc))
		if string(got) != want {
			t.Errorf("%s\n got %s\nwant %s", doc, got, want)
		}
		if json.Valid([]byte(doc)) && !json.Valid(got) {
			t.Errorf("%s is not valid", got)
		}
		if again := secret.MaskLikely(got); string(again) != string(got) {
			t.Errorf("%s is masked again: %s", got, again)
		}
	}
}
