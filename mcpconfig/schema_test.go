package mcpconfig_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/mcpconfig/internal/fields"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/validate"
)

func fileSchema(t *testing.T) *validate.Validator {
	t.Helper()
	v, err := validate.New(mcpconfig.FileSchema())
	if err != nil {
		t.Fatal(err)
	}
	if notes := v.Notes(); len(notes) > 0 {
		t.Fatalf("not all of the schema is checked: %v", notes)
	}
	return v
}

// readDry reads a text as the file of a project in dir, in an environment that has only TOKEN. The user allows projects
// any sandbox.
func readDry(t *testing.T, dir, text string) *mcpconfig.Config {
	t.Helper()
	write(t, filepath.Join(dir, ".indusvx", "mcp.json"), text)
	write(t, filepath.Join(dir, "home", ".config", "indusvx", "mcp.json"), `{"servers": {}, "sandboxProject": "off"}`)
	c, err := mcpconfig.Read(t.Context(), []string{dir}, &mcpconfig.Options{
		Trust: true, Dry: true, Home: filepath.Join(dir, "home"), Env: lookup(map[string]string{"TOKEN": "t"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFileSchemaIsTheCallersOwn(t *testing.T) {
	text := mcpconfig.FileSchema()
	clear(text)
	if !json.Valid(mcpconfig.FileSchema()) {
		t.Error("one caller's change is seen by the next")
	}
}

func TestTheSchemaKnowsTheProfiles(t *testing.T) {
	var file struct {
		Defs struct {
			Server struct {
				Properties struct {
					Profile struct{ Enum []string }
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(mcpconfig.FileSchema(), &file); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range schema.Profiles() {
		want = append(want, p.Name())
	}
	if diff := cmp.Diff(want, file.Defs.Server.Properties.Profile.Enum); diff != "" {
		t.Error(diff)
	}
}

// A file that the reader accepts without a note is valid for editors as well.
func TestTheSchemaTakesWhatTheReaderTakes(t *testing.T) {
	t.Parallel()
	v, dir := fileSchema(t), t.TempDir()
	cases, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			if !strings.HasSuffix(file.Name, ".json") {
				continue
			}
			if len(readDry(t, dir, string(file.Data)).Notes) > 0 {
				continue
			}
			taken++
			text, err := hujson.Standardize(file.Data)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Validate(text); err != nil {
				t.Errorf("%s, %s: %v", path, file.Name, err)
			}
		}
	}
	if taken < 20 {
		t.Errorf("only %d files were taken without a note", taken)
	}
}

// A row that the reader skips is invalid for editors as well. There are two exceptions
// that only the reader can check: values of variables, and the combination of two parts
// of a row.
func TestTheSchemaRefusesWhatTheReaderSkips(t *testing.T) {
	t.Parallel()
	v, dir := fileSchema(t), t.TempDir()
	for _, row := range []string{
		`1`, `null`, `"text"`, `[]`, `{}`,
		`{"command": ""}`, `{"command": "  "}`, `{"command": 1}`, `{"command": ["npx"]}`, `{"url": ""}`, `{"url": 1}`,
		`{"command": "x", "args": "a"}`, `{"command": "x", "args": {"a": "b"}}`, `{"command": "x", "env": "A=b"}`, `{"command": "x", "env": ["A=b"]}`,
		`{"command": "x", "cwd": 1}`, `{"command": "x", "type": 1}`, `{"command": "x", "type": "ws"}`,
		`{"command": "x", "transport": "http"}`, `{"url": "https://h/", "transport": "stdio"}`,
		`{"url": "h"}`, `{"url": "ftp://h/"}`, `{"url": "https:///mcp"}`, `{"url": "https://h/", "headers": ["A: b"]}`,
		`{"command": "x", "tools": ["*"]}`, `{"command": "x", "tools": {"deny": "a"}}`, `{"command": "x", "tools": {"deny": [1]}}`,
		`{"command": "x", "tools": {"deny": [""]}}`, `{"command": "x", "tools": {"denny": ["a"]}}`,
		`{"command": "x", "tools": {"rename": ["a"]}}`, `{"command": "x", "tools": {"rename": {"a": ""}}}`, `{"command": "x", "tools": {"describe": {"a": 1}}}`,
	} {
		text := `{"servers": {"a": ` + row + `}}`
		if c := readDry(t, dir, text); len(c.Rows) != 1 || c.Rows[0].State != mcpconfig.Skipped {
			t.Fatalf("%s is not skipped: %v", row, c.Rows)
		}
		if v.Validate([]byte(text)) == nil {
			t.Errorf("%s is right by the schema", row)
		}
	}
	for _, text := range []string{
		`{}`, `{"server": {}}`, `[]`, `{"servers": 1}`, `{"servers": {"": {"command": "x"}}}`, `{"servers": [{"command": "x"}]}`, `{"servers": [{"name": " ", "command": "x"}]}`,
	} {
		if len(readDry(t, dir, text).Notes) == 0 {
			t.Errorf("%s is read without a note", text)
		}
		if v.Validate([]byte(text)) == nil {
			t.Errorf("%s is right by the schema", text)
		}
	}
}

// choices are values of the fields of a row, valid and invalid ones.
var choices = map[string][]string{
	"command":    {`"npx"`, `"~/x"`, `"${TOKEN}"`, `"${cmd:echo x}"`, `""`, `" "`, `1`, `["x"]`},
	"args":       {`[]`, `["-y", "${TOKEN:-a}"]`, `["${file:x}"]`, `"a"`, `[1]`, `[null]`, `{}`},
	"env":        {`{}`, `{"A": "b", "": "c"}`, `{"A": "${TOKEN}", "_": "x"}`, `{"A=B": "c"}`, `{"A": 1}`, `{"A": null}`, `[]`},
	"cwd":        {`"sub"`, `""`, `1`},
	"inheritEnv": {`true`, `false`, `"true"`, `1`},
	"sandbox": {
		`"package"`, `{"base": "strict", "read": ["~/a", "${TOKEN}"], "write": ["out"], "hosts": ["*.h:443", "[::1]:1"], "listen": [0], "sockets": ["/s"],
		  "limits": {"files": 16, "memory": "1GiB", "processes": 1, "#": 1}, "home": "private", "proc": false, "required": false, "_": 1}`,
		`"off"`, `"strict"`, `{}`, `"loose"`, `""`, `true`, `[]`, `{"base": "off"}`, `{"reads": []}`, `{"read": "a"}`, `{"read": [1]}`, `{"read": [""]}`,
		`{"hosts": ["h"]}`, `{"hosts": ["https://h:1"]}`, `{"hosts": ["h:0"]}`, `{"hosts": [443]}`, `{"listen": [-1]}`, `{"listen": ["80"]}`, `{"listen": 80}`, `{"sockets": {}}`,
		`{"limits": {"files": 1}}`, `{"limits": {"memory": "1 PB"}}`, `{"limits": {"memory": 5}}`, `{"limits": {"cpu": 1}}`, `{"home": "shared"}`, `{"proc": "no"}`, `{"required": 0}`,
	},
	"url":     {`"https://h/mcp"`, `"HTTP://h"`, `" https://h"`, `"${UNSET:-https://h}"`, `"https://${cmd:x}/"`, `""`, `"h"`, `"https:///x"`, `1`},
	"headers": {`{}`, `{"Authorization": "Bearer ${TOKEN}", "X-~": ""}`, `{"A B": "c"}`, `{"A": true}`, `[]`},
	"oauth": {
		`false`, `true`, `{}`, `{"clientId": "a", "clientSecret": "${TOKEN}", "scopes": ["a"], "redirectPort": 80, "#": 1}`, `{"clientSecret": "s"}`, `{"scopes": "a b"}`, `{"scopes": ["a b"]}`,
		`{"grant": "client_credentials"}`, `{"grant": "client_credentials", "clientId": "a", "clientSecret": "b"}`, `{"grant": "client_credentials", "clientId": "a", "clientSecret": "b", "issuer": "https://h"}`,
		`{"grant": "client_credentials", "clientId": "a", "privateKey": "b", "privateKeyId": "c"}`, `{"clientId": "a", "clientSecret": "b", "privateKey": "c"}`, `{"privateKey": "c"}`, `{"privateKeyId": "c"}`, `{"subjectToken": "c"}`, `{"identityProvider": {"issuer": "https://h"}}`,
		`{"grant": "token_exchange", "clientId": "a", "subjectToken": "b"}`, `{"grant": "token_exchange", "clientId": "a", "subjectToken": "b", "issuer": "https://h", "subjectTokenType": "jwt"}`,
		`{"grant": "token_exchange", "clientId": "a", "subjectToken": "b", "issuer": "https://h", "identityProvider": {"issuer": "https://i", "clientId": "a", "clientSecret": "b", "#": 1}}`,
		`{"grant": "token_exchange", "clientId": "a", "subjectToken": "b", "issuer": "https://h", "identityProvider": {"issuer": "https://i", "clientSecret": "b"}}`,
		`{"grant": "token_exchange", "clientId": "a", "subjectToken": "b", "issuer": "https://h", "identityProvider": {}}`, `{"grant": "token_exchange", "clientId": "a", "subjectToken": "b", "issuer": "https://h", "identityProvider": 1}`, `{"issuer": "https://h"}`, `{"issuer": "http://h"}`, `{"issuer": "http://127.0.0.1:1"}`,
		`{"redirectUri": "http://localhost:8085/callback", "account": "work"}`, `{"redirectUri": "http://[::1]/x"}`, `{"redirectUri": "http://localhost"}`, `{"redirectUri": "${NOWHERE:-http://localhost:8085/callback}"}`,
		`{"redirectUri": "http://localhost.example.com/x"}`, `{"redirectUri": "https://localhost/x"}`, `{"redirectUri": "http://localhost/x?y"}`, `{"redirectPort": 80, "redirectUri": "http://localhost/x"}`,
		`{"account": ""}`, `{"redirectPort": 0}`, `{"redirectPort": "80"}`, `{"clientID": "x"}`, `[]`,
	},
	"tls":            {`{}`, `{"ca": "x"}`, `{"cert": "x"}`, `{"cert": "x", "key": "y"}`, `{"ca": 1}`, `{"insecure": true}`, `true`},
	"forwardHeaders": {`[]`, `["X-Request-Id"]`, `["Authorization"]`, `["a b"]`, `[1]`, `"X"`, `["mcp-x"]`, `["cookie"]`},
	"authorization":  {`"forward"`, `"x"`, `true`},
	"transport":      {`"stdio"`, `"http"`, `"sse"`, `"streamableHttp"`, `"ws"`, `1`},
	"type":           {`"stdio"`, `"streamable-http"`, `"local"`},
	"timeout": {
		`0`, `-1`, `1000`, `90000.5`, `999`, `1e12`, `"90s"`, `"-1.5h3m"`, `"0"`, `"90"`, `"1 s"`, `true`, `{}`, `{"connect": "30s", "_why": []}`,
		`{"call": 60000, "total": "10m", "list": "1us", "queue": "1m"}`, `{"call": 60}`, `{"cal": 60000}`, `[]`,
	},
	"lazy": {`true`, `false`, `"true"`, `1`},
	"idle": {`"10m"`, `600000`, `-1`, `"soon"`, `999`, `true`, `{}`},
	"tools": {
		`{}`, `{"allow": ["a*"], "deny": [], "#": 1}`, `{"rename": {"a": "b", "c": "d"}, "describe": {"": "x"}}`, `{"allow": []}`, `{"deny": [""]}`,
		`{"deny": "a"}`, `{"rename": {"a": ""}}`, `{"exclude": []}`, `[]`, `"*"`,
	},
	"per":           {`"principal"`, `"principal"`, `"user"`, `""`, `1`},
	"instances":     {`4`, `1.0`, `0`, `65`, `2.5`, `"4"`, `[]`},
	"single":        {`false`, `false`, `"true"`, `1`}, // true is for the user's own files
	"maxPrincipals": {`1`, `100000`, `0`, `-1`, `100001`, `true`},
	"maxConcurrent": {`1`, `8`, `0`, `1e9`, `"1"`, `{}`},
	"maxQueue":      {`0`, `100`, `-1`, `1.5`},

	"era":      {`"legacy"`, `"modern"`, `"auto"`, `"old"`, `""`, `1`},
	"profile":  {`"openai"`, `"universal"`, `"gpt"`, `1`},
	"enabled":  {`true`, `"true"`, `1`},
	"disabled": {`false`, `"no"`, `0`},
	"id":       {`"x"`, `" "`, `1`},
	"name":     {`"x"`, `""`, `[]`},
	"_comment": {`1`, `{}`},
	"$schema":  {`null`},
	"descr":    {`"x"`},
}

// For any row made of these values, the schema accepts the row if the reader has no note
// about it.
func TestTheSchemaAgreesWithTheReader(t *testing.T) {
	t.Parallel()
	v, dir := fileSchema(t), t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var fields []string
	for field := range choices {
		fields = append(fields, field)
	}
	slices.Sort(fields)
	right := 0
	for range 1500 {
		text := randomFile(random, fields)
		c := readDry(t, dir, text)
		quiet, fault := len(c.Notes) == 0, v.Validate([]byte(text))
		if quiet != (fault == nil) {
			t.Fatalf("seed %d: %s:\nthe reader: %v\nthe schema: %v", seed, text, c.Notes, fault)
		}
		if quiet {
			right++
		}
	}
	if right < 50 {
		t.Errorf("seed %d: only %d rows were right", seed, right)
	}
}

// randomFile returns a file with one server. Few of its fields are wrong, so that some
// files have a single mistake.
func randomFile(random *rand.Rand, fields []string) string {
	remote, list := random.IntN(2) == 0, random.IntN(3) == 0
	row := map[string]string{}
	for _, field := range fields {
		values := choices[field]
		needed, fits := false, true
		switch field {
		case "command":
			needed, fits = !remote, !remote
		case "url":
			needed, fits = remote, remote
		case "args", "env", "cwd", "inheritEnv", "sandbox":
			fits = !remote
		case "instances":
			fits = !remote && row["per"] == ""
		case "per":
			fits = row["instances"] == ""
		case "single":
			fits = !remote
		case "maxPrincipals":
			fits = row["per"] != ""
		case "maxQueue":
			fits = row["maxConcurrent"] != ""
		case "headers":
			fits = remote
		case "id":
			needed, fits = list, list
		case "name", "descr", "transport", "type":
			fits = false
		}
		switch {
		case random.IntN(12) == 0:
			row[field] = values[random.IntN(len(values))]
		case needed || fits && random.IntN(4) == 0: // the first two are valid
			row[field] = values[random.IntN(min(2, len(values)))]
		}
	}
	if row["transport"] != "" { // only the reader can see that the two differ
		delete(row, "type")
	}
	var members []string
	for _, field := range fields {
		if row[field] != "" {
			members = append(members, fmt.Sprintf("%q: %s", field, row[field]))
		}
	}
	text := "{" + strings.Join(members, ", ") + "}"
	if list {
		return `{"servers": [` + text + `]}`
	}
	return `{"mcpServers": {"a": ` + text + `}, "other": 1}`
}

// settings are values of the fields of a file beside its servers, valid and invalid ones. The first two are valid.
var settings = map[string][]string{
	"$schema": {`"x"`, `"y"`}, "_note": {`1`, `{}`}, "other": {`1`, `{}`},
	"changes":    {`"hold"`, `"deny"`},
	"registries": {`"https://r"`, `["https://r", "${TOKEN}"]`, `[]`, `""`, `[1]`, `{}`},
	"policy":     {`"p.cedar"`, `"~/p"`, `""`, `1`, `null`},
	"policyMode": {`"report"`, `"enforce"`, `"log"`, `1`},
	"views": {
		`{}`, `{"v": {"servers": ["a*"], "tools": [], "prompts": [], "resources": ["a__b"], "mode": "all", "profile": "openai", "publish": true, "#": 1}, "_c": 1}`,
		`{"v": {"mode": "some"}}`, `{"v": {"profile": "gpt"}}`, `{"v": {"publish": 1}}`, `{"v": {"server": []}}`, `{"v": []}`, `{"a b": {}}`, `{"v": {"tools": [""]}}`, `[]`,
	},
	"auth": {
		`{"methods": "keys", "publicUrl": "https://h", "scopes": ["a"], "_c": 1}`,
		`{"methods": ["jwt"], "issuers": [{"issuer": "https://i", "jwksUri": "https://i/k", "audience": "a", "algorithms": ["ES256"], "claim": "sub", "apps": true, "#": 1}],
		  "introspection": {"issuer": "https://i", "endpoint": "https://i/x", "clientId": "c", "clientSecret": "${TOKEN}", "audience": ["a"], "claim": "sub", "apps": false, "#": 1}}`,
		`{"methods": "oauth"}`, `{"issuers": {}}`, `{"issuers": [{}]}`, `{"issuers": [{"issuer": "i", "endpoint": "e"}]}`, `{"introspection": {"issuer": "i", "jwksUri": "e"}}`, `{"introspection": {}}`, `{"method": "keys"}`,
		`{"scopes": [""]}`, `{"issuers": [{"issuer": "i", "apps": 1}]}`, `[]`, `null`,
	},
	"audit": {
		`"audit.jsonl"`, `{"file": "a", "maxSize": "100MB", "maxAge": "7d", "keep": 20, "onFull": "continue", "sync": true, "_": 1}`, `{"file": "a", "maxSize": 65536, "maxAge": "24h"}`,
		`{}`, `""`, `{"file": "a", "maxSize": "1TB"}`, `{"file": "a", "maxSize": 1}`, `{"file": "a", "maxAge": "soon"}`, `{"file": "a", "keep": 0}`, `{"file": "a", "onFull": "wait"}`, `{"file": "a", "sync": "true"}`, `{"file": "a", "size": 1}`, `5`, `null`,
	},
	"approvals": {
		`{}`, `{"expire": "10m", "webhook": {"url": "https://h", "secret": "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0", "#": 1}, "_c": 1}`,
		`{"expire": "long"}`, `{"webhook": {"url": "https://h"}}`, `{"webhook": {}}`, `{"webhook": "https://h"}`, `{"expires": "1h"}`, `[]`, `null`,
	},
	"sandboxDefault": {
		`"package"`, `{"base": "package", "hosts": ["h:443"]}`, `"off"`, `"loose"`, `{"host": []}`, `{"hosts": ["h"]}`, `5`, `[]`,
	},
	"sandboxProject": {
		`"package"`, `{"base": "package", "hosts": ["h:443"]}`, `"off"`, `"loose"`, `{"host": []}`, `{"hosts": ["h"]}`, `5`, `[]`,
	},
	"cluster": {
		`{"nats": "nats://h"}`, `{"nats": "tls://a, nats://b", "credsFile": "c", "tls": {"ca": "ca.pem", "#": 1}, "name": "n", "replicas": 5, "monitor": "http://m", "lease": "10s", "_c": 1}`,
		`{}`, `{"nats": "http://h"}`, `{"nats": 1}`, `{"nats": "nats://h", "replicas": 6}`, `{"nats": "nats://h", "lease": "long"}`, `{"nats": "nats://h", "tls": {"cert": "c"}}`, `{"nats": "nats://h", "monitor": "nats://m"}`, `{"nats": "nats://h", "creds": "c"}`, `5`, `null`,
	},
}

// For any file made of these values, the schema accepts the file if the reader has no note about it.
func TestTheSchemaAgreesWithTheReaderOfSettings(t *testing.T) {
	t.Parallel()
	for _, f := range fields.File() {
		if f.Name != "servers" && f.Name != "mcpServers" && len(settings[f.Name]) < 2 {
			t.Errorf("%q is not tried", f.Name)
		}
	}
	v, dir := fileSchema(t), t.TempDir()
	path := filepath.Join(dir, "indusvx", "mcp.json") // the user's own
	agree := func(text string) bool {
		write(t, path, text)
		c, err := mcpconfig.Read(t.Context(), []string{path}, &mcpconfig.Options{
			Dry: true, Home: filepath.Join(dir, "home"), XDG: dir, Env: lookup(map[string]string{"TOKEN": "t"}),
		})
		if err != nil {
			t.Fatal(err)
		}
		quiet, fault := len(c.Notes) == 0, v.Validate([]byte(text))
		if quiet != (fault == nil) {
			t.Fatalf("%s:\nthe reader: %v\nthe schema: %v", text, c.Notes, fault)
		}
		return quiet
	}
	names := slices.Sorted(maps.Keys(settings))
	for _, name := range names { // each value alone
		for i, value := range settings[name] {
			text := fmt.Sprintf(`{"servers": {}, %q: %s}`, name, value)
			if agree(text) != (i < 2) && name != "policyMode" && i != 2 {
				t.Errorf("%s is taken to be right or wrong", text)
			}
		}
	}
	random := fixture.Rand(t)
	for range 300 {
		text := `{"servers": {}`
		for _, name := range names {
			if values := settings[name]; random.IntN(3) == 0 {
				if random.IntN(8) > 0 {
					values = values[:2]
				}
				text += fmt.Sprintf(", %q: %s", name, values[random.IntN(len(values))])
			}
		}
		agree(text + "}")
	}
}

// The reader lists the keys of each object in an error. They are the keys of the table of fields.
func TestTheReaderKnowsTheFields(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "indusvx", "mcp.json") // the user's own
	reasons := func(text string) (all string) {
		write(t, path, text)
		c, err := mcpconfig.Read(t.Context(), []string{path}, &mcpconfig.Options{Dry: true, Home: dir, XDG: dir, Env: lookup(nil)})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range c.Notes {
			all += n.String() + "\n"
		}
		return all
	}
	var check func(before, after string, list []fields.Field)
	check = func(before, after string, list []fields.Field) {
		for _, f := range list {
			if f.Members == nil {
				continue
			}
			before, after := before+fmt.Sprintf("%q: ", f.Name), after
			if f.Name == "views" {
				before, after = before+`{"v": `, "}"+after
			}
			if f.Kind.JSON == '[' {
				before, after = before+"[", "]"+after
			}
			want := `it has "` + strings.Join(fields.Names(f.Members), `", "`) + `"`
			if got := reasons(before + `{"zzzzzzzzzzzz": 1}` + after); !strings.Contains(got, want) {
				t.Errorf("%s{} has other keys: %s\nwant %s", before, got, want)
			}
			check(before+"{", "}"+after, f.Members)
		}
	}
	check(`{"servers": {}, `, "}", fields.File())
	for _, f := range fields.Row() {
		other := `"url": "https://h"`
		if f.Side == fields.Process {
			other = `"command": "x"`
		}
		check(`{"servers": {"a": {`+other+`, `, "}}}", []fields.Field{f})
	}
	for _, f := range fields.Row() {
		if got := reasons(fmt.Sprintf(`{"servers": {"a": {%q: []}}}`, f.Name)); strings.Contains(got, "unknown key") {
			t.Error(got)
		}
	}
	for _, f := range fields.File() {
		want := fmt.Sprintf("did you mean %q?", f.Name)
		if got := reasons(fmt.Sprintf(`{"servers": {}, "%sx": []}`, f.Name)); !strings.Contains(got, want) {
			t.Errorf("%sx: %s", f.Name, got)
		}
	}
}

// The example in the documentation is valid for the reader and for the schema.
func TestTheDocumentedFileIsRight(t *testing.T) {
	doc, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "```jsonc\n")
	text, _, ok := strings.Cut(text, "```\n")
	if !ok {
		t.Fatal("the documentation has no example")
	}
	c := readDry(t, t.TempDir(), strings.ReplaceAll(text, "${WEBHOOK_SECRET}", "${TOKEN}"))
	if got := states(c); got != "github active\ndocs disabled" || len(c.Notes) != 10 { // about docs, "publish", "sandboxProject", "auth", "policy", "policyMode", "audit", "approvals", "cluster", "registries"
		t.Errorf("%s\n%v", got, c.Notes)
	}
	plain, err := hujson.Standardize([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := fileSchema(t).Validate(plain); err != nil {
		t.Error(err)
	}
}
