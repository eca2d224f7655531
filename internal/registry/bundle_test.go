package registry_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/registry"
)

// zipped returns a zip file: names and contents in turn. A name that ends with "*" is executable.
func zipped(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		name, executable := strings.CutSuffix(files[i], "*")
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o644)
		if executable {
			h.SetMode(0o755)
		}
		if strings.HasPrefix(files[i+1], "->") {
			h.SetMode(os.ModeSymlink | 0o777)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bundleOffer returns an offer of a registry on this machine that serves a file.
func bundleOffer(t *testing.T, file []byte, hash string) registry.Offer {
	t.Helper()
	if hash == "" {
		hash = fmt.Sprintf("%x", sha256.Sum256(file))
	}
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/s.mcpb" {
			_, _ = w.Write(file)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"server": registry.Entry{
			Name: "a/s", Version: "1", Packages: []registry.Package{{
				Type: "mcpb", Identifier: "http://" + r.Host + "/s.mcpb", SHA256: hash,
			}},
		}})
	})
	e, err := c.Entry(t.Context(), "a/s", "latest")
	if err != nil {
		t.Fatal(err)
	}
	return e.Offers()[0]
}

func TestABundleBecomesARow(t *testing.T) {
	file := zipped(t, "server/main*", "#!", "server/lib/a.txt", "text", "manifest.json", `{"server":{"mcp_config":{
		"command":"${__dirname}/server/main","args":["--key=${user_config.api_key}","${user_config.dir}","${user_config.none}"],
		"env":{"PYTHONPATH":"${__dirname}/lib:${__dirname}","NODE_ENV":"production","PORT":"${user_config.port}"},
		"platform_overrides":{"plan9":{"command":"node"}}}},
		"user_config":{"api_key":{"sensitive":true,"required":true},"dir":{"title":"a directory","required":true},"port":{"default":80},
			"none":{}}}`)
	o := bundleOffer(t, file, "")
	root := filepath.Join(t.TempDir(), "bundles")
	b, err := o.Download(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	o.Bundle = b
	if _, err := o.Row("s", nil); err == nil || err.Error() != "it needs dir" {
		t.Error(err)
	}
	row, err := o.Row("s", map[string]string{"dir": "/data"})
	dir := filepath.Join(root, o.Package.SHA256)
	want := fmt.Sprintf(`{"command":"%[1]s/server/main","args":["--key=${S_API_KEY}","/data"],`+
		`"env":{"NODE_ENV":"production","PORT":"80","PYTHONPATH":"%[1]s/lib:%[1]s"}}`, dir)
	if err != nil || string(row) != want {
		t.Errorf("%v\n%s\n%s", err, row, want)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Error("files were written before Unpack")
	}
	for range 2 {
		if err := b.Unpack(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir + "/server/main"); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
	if text, err := os.ReadFile(dir + "/server/lib/a.txt"); err != nil || string(text) != "text" {
		t.Error(err)
	}
}

func TestHostileBundles(t *testing.T) {
	manifest := func(command, more string) string {
		return `{"server":{"mcp_config":{"command":"` + command + `"` + more + `}}}`
	}
	for _, test := range []struct {
		name string
		file []byte
		hash string
		want string
	}{
		{"another hash", zipped(t, "manifest.json", manifest("node", "")), strings.Repeat("0", 64), "the file has the hash"},
		{"no hash", nil, "latest", "is no hash of a file"},
		{"no zip", []byte("text"), "", "no zip file"},
		{"no manifest", zipped(t, "a", "b"), "", "it has no manifest.json"},
		{"a path above", zipped(t, "../a", "b"), "", "not a plain file"},
		{"an absolute path", zipped(t, "/etc/a", "b"), "", "not a plain file"},
		{"a Windows path", zipped(t, `..\\a`, "b"), "", "not a plain file"},
		{"a link", zipped(t, "a", "->/etc/passwd"), "", "not a plain file"},
		{"a shell", zipped(t, "manifest.json", manifest("sh", `,"args":["-c","id"]`)), "", "neither in the bundle nor"},
		{"a program above", zipped(t, "manifest.json", manifest("${__dirname}/../../x", "")), "", "neither in the bundle nor"},
		{"a preload", zipped(t, "manifest.json", manifest("node", `,"env":{"LD_PRELOAD":"${__dirname}/x.so"}`)), "", "it sets the variable LD_PRELOAD"},
		{"options of node", zipped(t, "manifest.json", manifest("node", `,"env":{"NODE_OPTIONS":"--require ${__dirname}/x.js"}`)), "", "NODE_OPTIONS"},
		{"options of Java", zipped(t, "manifest.json", manifest("node", `,"env":{"JAVA_TOOL_OPTIONS":"-javaagent:x"}`)), "", "JAVA_TOOL_OPTIONS"},
		{"a hook of .NET", zipped(t, "manifest.json", manifest("node", `,"env":{"DOTNET_STARTUP_HOOKS":"${__dirname}/x.dll"}`)), "", "DOTNET_STARTUP_HOOKS"},
		{"modules elsewhere", zipped(t, "manifest.json", manifest("python3", `,"env":{"PYTHONPATH":"${__dirname}/lib:/tmp"}`)), "", "PYTHONPATH"},
		{"modules above", zipped(t, "manifest.json", manifest("python3", `,"env":{"PYTHONPATH":"${__dirname}/../../lib"}`)), "", "PYTHONPATH"},
		{"a variable", zipped(t, "manifest.json", manifest("node", `,"args":["${cmd:id}"]`)), "", "no registry writes variables"},
	} {
		o := bundleOffer(t, test.file, test.hash)
		root := t.TempDir()
		b, err := o.Download(t.Context(), root)
		if err == nil {
			o.Bundle = b
			_, err = o.Row("s", nil)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if files, _ := os.ReadDir(root); len(files) > 0 {
			t.Errorf("%s: files were written", test.name)
		}
	}
}
