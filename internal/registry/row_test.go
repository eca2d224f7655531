package registry_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/registry"
)

// entryOf returns an entry with a member "packages" or "remotes", as a registry on another machine returns it.
func entryOf(t *testing.T, member string) *registry.Entry {
	t.Helper()
	var e registry.Entry
	if err := json.Unmarshal([]byte(`{"name":"io.github.u/s","version":"1.0.0",`+member+`}`), &e); err != nil {
		t.Fatal(err)
	}
	return &e
}

func TestRows(t *testing.T) {
	for _, test := range []struct {
		name, member string
		values       map[string]string
		want         string
	}{
		{"npm", `"packages":[{"registryType":"npm","identifier":"@u/s","version":"1.2.3-rc.1",
			"runtimeArguments":[{"type":"positional","value":"-y"}],
			"packageArguments":[
				{"type":"positional","valueHint":"dir","isRequired":true},
				{"type":"named","name":"--port","value":"80"},{"type":"named","name":"-v","default":"1"},
				{"type":"named","name":"-l","value":"debug"},{"type":"named","name":"--stdio"},
				{"type":"named","name":"--read-only","isRequired":true},{"type":"named","name":"--quiet","value":""},
				{"type":"named","name":"--cache","placeholder":"/tmp"},{"type":"named","name":"--size","format":"number"},
				{"type":"named","name":"--log","description":"write a log"},{"type":"named","name":"-v","isRequired":false}],
			"environmentVariables":[{"name":"API_KEY","isRequired":true,"isSecret":true},{"name":"OTHER"},
				{"name":"MODE","isRequired":true,"default":"fast"}]}]`,
			map[string]string{"dir": "${workspaceFolder}", "EXTRA": "1"},
			`{"command":"npx","args":["-y","@u/s@1.2.3-rc.1","${workspaceFolder}","--port=80","-l","debug","--stdio","--read-only",` +
				`"--quiet","--log","-v"],` +
				`"env":{"API_KEY":"${API_KEY}","EXTRA":"1","MODE":"fast"}}`},
		{"pypi", `"packages":[{"registryType":"pypi","identifier":"s","version":"1.2.post1","runtimeHint":"python",
			"transport":{"type":"stdio"}}]`, nil, `{"command":"uvx","args":["s==1.2.post1"]}`},
		{"oci", `"packages":[{"registryType":"oci","identifier":"ghcr.io/u/s:1.2@sha256:` + strings.Repeat("a", 64) + `",
			"runtimeArguments":[{"type":"named","name":"-e","value":"DB={db}","variables":{"db":{"isRequired":true}}}],
			"packageArguments":[{"type":"positional","value":"--privileged"}],
			"environmentVariables":[{"name":"KEY","isRequired":true,"isSecret":true}]}]`, map[string]string{"db": "pg"},
			`{"command":"docker","args":["run","-i","--rm","-e","DB","-e","KEY","ghcr.io/u/s:1.2@sha256:` +
				strings.Repeat("a", 64) + `","--privileged"],"env":{"DB":"pg","KEY":"${KEY}"}}`},
		{"old oci", `"packages":[{"registryType":"oci","registryBaseUrl":"https://docker.io","identifier":"u/s","version":"2"}]`,
			nil, `{"command":"docker","args":["run","-i","--rm","docker.io/u/s:2"]}`},
		{"remote", `"remotes":[{"type":"streamable-http","url":"https://{tenant}.example.com/mcp",
			"variables":{"tenant":{"default":"eu"}},
			"headers":[{"name":"Authorization","value":"Bearer {token}","isRequired":true,
				"variables":{"token":{"isSecret":true}}},{"name":"X-Key","isRequired":true,"isSecret":true},{"name":"X-Other"}]}]`,
			nil, `{"url":"https://eu.example.com/mcp","headers":{"Authorization":"Bearer ${MY_ID_TOKEN}","X-Key":"${MY_ID_X_KEY}"}}`},
		{"sse", `"remotes":[{"type":"sse","url":"https://example.com/sse"}]`, nil,
			`{"url":"https://example.com/sse","transport":"sse"}`},
	} {
		row, err := entryOf(t, test.member).Offers()[0].Row("my-id", test.values)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, string(row)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.name, diff)
		}
	}
}

func TestMissingValuesAreNamed(t *testing.T) {
	o := entryOf(t, `"packages":[{"registryType":"npm","identifier":"s","version":"1.0.0",
		"packageArguments":[{"type":"named","name":"--dir","isRequired":true,"description":"a directory"}],
		"environmentVariables":[{"name":"A","value":"{x}-{y}","variables":{"x":{"isRequired":true}}},
			{"name":"B","isRequired":true,"choices":["one","two"]}]}]`).Offers()[0]
	_, err := o.Row("s", nil)
	missing := (*registry.MissingError)(nil)
	if !errors.As(err, &missing) || err.Error() != "it needs x, B, dir" {
		t.Fatal(err)
	}
	if _, err = o.Row("s", map[string]string{"x": "1", "B": "three", "dir": "/"}); err == nil ||
		err.Error() != "B must be one of one, two" {
		t.Error(err)
	}
	if _, err = o.Row("s", map[string]string{"no-dir": "/"}); err == nil ||
		err.Error() != `it has no value "no-dir": it takes B, dir, x` {
		t.Error(err)
	}
	row, err := o.Row("s", map[string]string{"x": "1", "B": "two", "dir": ""})
	if want := `{"command":"npx","args":["-y","s@1.0.0","--dir"],"env":{"A":"1-{y}","B":"two"}}`; string(row) != want {
		t.Errorf("%s %v", row, err)
	}
	row, err = o.Row("s", map[string]string{"x": "1", "B": "two", "dir": "/"})
	want := `{"command":"npx","args":["-y","s@1.0.0","--dir=/"],"env":{"A":"1-{y}","B":"two"}}`
	if err != nil || string(row) != want {
		t.Errorf("%s %v", row, err)
	}
}

// TestHostileEntriesHaveNoRow checks that nothing of an entry becomes an option of the launcher, a variable of the
// configuration, another package or an address that is not https.
func TestHostileEntriesHaveNoRow(t *testing.T) {
	npm := func(member string) string {
		return `"packages":[{"registryType":"npm","identifier":"s","version":"1.0.0",` + member + `}]`
	}
	pkg := func(kind, identifier, version string) string {
		raw, _ := json.Marshal(map[string]string{"registryType": kind, "identifier": identifier, "version": version})
		return `"packages":[` + string(raw) + `]`
	}
	remote := func(address string) string {
		raw, _ := json.Marshal(address)
		return `"remotes":[{"type":"streamable-http","url":` + string(raw) + `}]`
	}
	for _, member := range []string{
		pkg("npm", "--call=sh", "1.0.0"), pkg("npm", "-c", "1.0.0"), pkg("npm", "s", "latest"), pkg("npm", "s", "^1.0.0"),
		pkg("npm", "s", "npm:evil@1.0.0"), pkg("npm", "s", "file:../x"), pkg("npm", "s", "1.0.0 evil"), pkg("npm", "s", ""),
		pkg("npm", "../evil", "1.0.0"), pkg("npm", "evil/repo", "1.0.0"), pkg("npm", "https://evil.example/x.tgz", "1.0.0"),
		pkg("npm", "s\n", "1.0.0"), pkg("npm", "${cmd:id}", "1.0.0"), pkg("npm", "s", "1.0.0\n"),
		pkg("pypi", "--from=evil", "1.0"), pkg("pypi", "s", "*"), pkg("pypi", "s @ https://evil.example", "1.0"),
		pkg("pypi", "s[extra]", "1.0"), pkg("pypi", "s", "1.0 --index-url=x"), pkg("pypi", "./s", "1.0"),
		pkg("oci", "--privileged", "1"), pkg("oci", "-v=/:/host", ""), pkg("oci", "u/s", ""), pkg("oci", "u/s:latest", ""),
		pkg("oci", "u/s:1 --privileged", ""), pkg("oci", "u/s@sha256:abc", ""), pkg("oci", "u/S:1", ""), pkg("oci", "", "1"),
		pkg("mcpb", "https://example.com/a.mcpb", ""), pkg("cargo", "s", "1.0.0"), pkg("sh -c", "s", "1.0.0"),
		npm(`"runtimeArguments":[{"type":"named","name":"--registry","value":"https://evil.example"}]`),
		npm(`"runtimeArguments":[{"type":"positional","value":"--package=evil"}]`),
		npm(`"transport":{"type":"streamable-http","url":"http://localhost"}`),
		npm(`"environmentVariables":[{"name":"NODE_OPTIONS","value":"--require /tmp/x.js"}]`),
		npm(`"environmentVariables":[{"name":"npm_config_registry","value":"https://evil.example"}]`),
		npm(`"environmentVariables":[{"name":"PATH","value":"/tmp/evil"}]`),
		npm(`"environmentVariables":[{"name":"UserProfile","value":"\\\\evil.example\\share"}]`), // has the .npmrc of Windows
		npm(`"environmentVariables":[{"name":"OPENSSL_CONF","value":"/tmp/evil.cnf"}]`),
		npm(`"environmentVariables":[{"name":"LD_PRELOAD","isRequired":true,"default":"/tmp/x.so"}]`),
		npm(`"environmentVariables":[{"name":"A=B","value":"1"}]`), npm(`"environmentVariables":[{"name":"","value":"1"}]`),
		npm(`"environmentVariables":[{"name":"A","value":"${cmd:id}"}]`),
		npm(`"environmentVariables":[{"name":"A","value":"$${cmd:id}"}]`),
		npm(`"environmentVariables":[{"name":"A","isRequired":true,"default":"${HOME}"}]`),
		npm(`"environmentVariables":[{"name":"A","value":"{x}{y}","variables":{"x":{"default":"$"},"y":{"default":"{cmd:id}"}}}]`),
		npm(`"packageArguments":[{"type":"positional","value":"${file:~/.ssh/id_ed25519}"}]`),
		npm(`"packageArguments":[{"type":"named","name":"--a ${cmd:id}","value":"1"}]`),
		npm(`"packageArguments":[{"type":"named","name":"--a\u001b[2J","value":"1"}]`),
		npm(`"packageArguments":[{"type":"named","name":"--","value":"1"}]`),
		npm(`"packageArguments":[{"type":"positional","value":"a\u0000b"}]`),
		npm(`"packageArguments":[{"type":"positional","value":"a\u202eb"}]`),
		npm(`"packageArguments":[{"type":"positional","value":"` + strings.Repeat("a", 5000) + `"}]`),
		npm(`"packageArguments":[{"type":"other","value":"a"}]`), npm(`"packageArguments":[{"type":"positional","isRequired":true}]`),
		npm(`"packageArguments":[{"type":"positional","value":"` + strings.Repeat("{x}", 1000) + `","variables":{"x":{"default":"` +
			strings.Repeat("a", 4000) + `"}}}]`),
		npm(`"packageArguments":[{"type":"positional","value":"` + strings.Repeat("{x}", 300_000) + `","variables":{"x":{}}}]`),
		`"packages":[{"registryType":"oci","identifier":"u/s:1","runtimeArguments":[{"type":"named","name":"--network","value":"host"}]}]`,
		`"packages":[{"registryType":"oci","identifier":"u/s:1","runtimeArguments":[{"type":"named","name":"-v","value":"/:/host"}]}]`,
		`"packages":[{"registryType":"oci","identifier":"u/s:1","runtimeArguments":[{"type":"named","name":"-e","value":"DOCKER_HOST=tcp://evil.example"}]}]`,
		`"packages":[{"registryType":"oci","identifier":"u/s:1","registryBaseUrl":"https://--x"}]`,
		remote("http://example.com/mcp"), remote("http://127.0.0.1:1/mcp"), remote("https://127.0.0.1/mcp"), remote("https://LocalHost./mcp"), remote("https://[::ffff:127.0.0.1]/"),
		remote("https://0.0.0.0/"), remote("https://169.254.169.254/latest"), remote("https://a.localhost/"), remote("https://user:pw@example.com/mcp"), remote("file:///etc/passwd"),
		remote("https://${cmd:id}.example.com"), remote("https:"), remote("javascript:alert(1)"), remote("https://example.com/\x1b[2J"), remote(""),
		`"remotes":[{"type":"ws","url":"https://example.com"}]`,
		`"remotes":[{"type":"sse","url":"{u}","variables":{"u":{"default":"http://169.254.169.254/"}}}]`,
		`"remotes":[{"type":"sse","url":"https://example.com","headers":[{"name":"A: b","value":"1"}]}]`,
		`"remotes":[{"type":"sse","url":"https://example.com","headers":[{"name":"A","value":"1\r\nB: 2"}]}]`,
		`"remotes":[{"type":"sse","url":"https://example.com","headers":[{"name":"A","value":"${AWS_SECRET_ACCESS_KEY}"}]}]`,
	} {
		if row, err := entryOf(t, member).Offers()[0].Row("id", nil); err == nil {
			t.Errorf("%s\nbecomes %s", member, row)
		} else if strings.ContainsAny(err.Error(), "\x1b\u202e\x00") || len(err.Error()) > 1000 {
			t.Errorf("%s: the error is not fit for a terminal: %q", member, err)
		}
	}
}

// FuzzRow checks that a row of any entry has a launcher, and that no variable in it comes from the entry.
func FuzzRow(f *testing.F) {
	f.Add("npm", "@u/s", "1.0.0", "{x}", "d", "--a", "v")
	f.Add("oci", "u/s:1", "", "$", "{cmd:id}", "-e", "${x}")
	f.Add("pypi", "s", "1.0", "$${a}", "$", "--b", "{cmd:x}")
	f.Fuzz(func(t *testing.T, kind, identifier, version, value, fallback, name, x string) {
		in := registry.Input{Value: value, Variables: map[string]registry.Input{"x": {Default: fallback}, "cmd": {Value: x}}}
		e := registry.Entry{Packages: []registry.Package{{
			Type: kind, Identifier: identifier, Version: version,
			Arguments:   []registry.Argument{{Type: "positional", Input: in}, {Type: "named", Name: name, Input: in}},
			Environment: []registry.KeyValue{{Name: name, Input: in}},
		}}}
		raw, err := e.Offers()[0].Row("id", nil)
		if err != nil {
			return
		}
		var row struct {
			Command string
			Args    []string
		}
		if err := json.Unmarshal(raw, &row); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "${") {
			t.Errorf("a variable: %s", raw)
		}
		at := map[string]int{"npx": 1, "uvx": 0, "docker": 3}[row.Command]
		if row.Command == "docker" {
			for row.Args[at] == "-e" {
				at += 2
			}
		}
		if strings.HasPrefix(row.Args[at], "-") {
			t.Errorf("an option: %s", raw)
		}
	})
}

func TestHostileAnswers(t *testing.T) {
	answer := ""
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(answer, "http") {
			http.Redirect(w, r, answer, http.StatusFound)
			return
		}
		_, _ = w.Write([]byte(answer))
	})
	for _, test := range []struct{ name, answer, want string }{
		{"a loop", `{"servers":[],"metadata":{"nextCursor":"a"}}`, "a cursor comes again"},
		{"a long cursor", `{"metadata":{"nextCursor":"` + strings.Repeat("a", 5000) + `"}}`, "longer than 4096 bytes"},
		{"no JSON", `<html>`, "no JSON of a registry"},
		{"huge", `"` + strings.Repeat("a", 17<<20) + `"`, "longer than 16 MiB"},
		{"deep", strings.Repeat("[", 100_000), "no JSON of a registry"},
		{"another host", "http://example.com/", "redirects to an address"},
	} {
		answer = test.answer
		if _, err := c.Search(t.Context(), registry.Query{Limit: 1000}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	answer = `{"servers":[null,5,{},{"server":null},{"server":{"name":"a/b/c","version":"1"}},{"server":{"name":"a/b\u001b","version":"1"}},
		{"server":{"name":"a/..","version":"1"}},{"server":{"name":"-a/b","version":"1"}},{"server":{"name":"a/-b","version":"1"}},
		{"server":{"name":"a/b","version":"^1"}},{"server":{"name":"a/b","version":"1","packages":{}}},
		{"server":{"name":"a/ok","version":"1"}},
		{"server":{"name":"a/gone","version":"1"},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"deleted"}}}]}`
	found, err := c.Search(t.Context(), registry.Query{})
	if err != nil || found.Invalid != 11 || len(found.Entries) != 1 || found.Entries[0].Name != "a/ok" {
		t.Errorf("%v %+v", err, found)
	}
	for _, test := range []struct{ version, answer, want string }{
		{"1", `{"server":{"name":"a/other","version":"1"}}`, "it returned a/other@1 for a/ok@1"},
		{"1", `{"server":{"name":"a/ok","version":"2"}}`, "it returned a/ok@2 for a/ok@1"},
		{"../x", ``, "is no name of an entry"},
	} {
		answer = test.answer
		if _, err := c.Entry(t.Context(), "a/ok", test.version); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Error(err)
		}
	}
}

func TestAddressesOfRegistries(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://example.com": true, "https://example.com/mcp/@team/": true, "http://127.0.0.1:1": true, "http://localhost": true,
		"http://example.com": false, "https://u:p@example.com": false, "https://example.com?x": false, "file:///x": false, "": false,
	} {
		if _, err := registry.New(address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestAddressesOfThisMachine refuses the addresses of this machine in an entry of another registry, also in forms that only
// some resolvers read as such, or that name another host.
func TestAddressesOfThisMachine(t *testing.T) {
	for host, ok := range map[string]bool{
		"127.0.0.1": false, "127.1": false, "2130706433": false, "0x7f.1": false, "0177.0.0.1": false, "0": false, "1.2.3.4.": true,
		"0x7f000001": false, "127.0.0.1.": false, "127.0.0.0x1": false, "[::ffff:127.0.0.1]": false, "[::1]": false, "[::]": false,
		"localhost": false, "a.localhost": false, "LOCALHOST.": false, "localhost.localdomain": false, "ip6-localhost": false,
		"ip6-loopback": false, "localhost6": false, "169.254.169.254": false, "example.09": false,
		"example.com": true, "10.0.0.1": true, "1.2.3.4": true, "localhost.example.com": true, "ip6-host.example.com": true,
	} {
		_, err := entryOf(t, `"remotes":[{"type":"streamable-http","url":"https://`+host+`/mcp"}]`).Offers()[0].Row("s", nil)
		if (err == nil) != ok {
			t.Errorf("%s: %v", host, err)
		}
	}
}
