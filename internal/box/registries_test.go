package box_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/box"
)

func TestRegistriesAreThoseOfTheUser(t *testing.T) {
	for _, row := range []struct {
		file, text string // of the home
		env        string
		hosts      string // some of the hosts
		without    string
		variables  string
	}{
		{file: ".npmrc", text: "//r.example/:_authToken=secret\nregistry = https://r.example/npm/\n@a:registry=http://b.example:4873",
			hosts: "r.example:443 b.example:4873", without: "registry.npmjs.org:443",
			variables: "npm_config_registry=https://r.example/npm/"},
		{file: ".config/pip/pip.conf", text: "[global]\nindex-url = https://me:secret@py.example/simple\n",
			hosts: "py.example:443", without: "pypi.org:443", variables: "PIP_INDEX_URL=https://py.example/simple"},
		{file: ".config/uv/uv.toml", text: "[[index]]\nurl = \"https://uv.example/simple\"\n",
			hosts: "uv.example:443", variables: "UV_DEFAULT_INDEX=https://uv.example/simple"},
		{file: "unused", env: "GOPROXY=https://go.example|https://[::1]:8080,direct UV_INDEX=name=https://named.example/s",
			hosts: "go.example:443 [::1]:8080 named.example:443", without: "proxy.golang.org:443",
			variables: "UV_DEFAULT_INDEX=https://named.example/s GOPROXY=https://go.example,https://[::1]:8080,direct"},
		{file: ".npmrc", text: "registry=${REGISTRY}\n", hosts: "registry.npmjs.org:443"},
	} {
		home := t.TempDir()
		file := filepath.Join(home, row.file)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(row.text), 0o600))
		hosts, variables := box.Registries(home, strings.Fields(row.env))
		for want := range strings.FieldsSeq(row.hosts) {
			if !slices.Contains(hosts, want) {
				t.Errorf("%s %s: no %s in %v", row.file, row.env, want, hosts)
			}
		}
		if row.without != "" && slices.Contains(hosts, row.without) {
			t.Errorf("%s %s: %v", row.file, row.env, hosts)
		}
		for want := range strings.FieldsSeq(row.variables) {
			if !slices.Contains(variables, want) {
				t.Errorf("%s %s: no %s in %v", row.file, row.env, want, variables)
			}
		}
		if all := strings.Join(append(hosts, variables...), " "); strings.Contains(all, "secret") {
			t.Errorf("%s: a password in %s", row.file, all)
		}
	}
}
