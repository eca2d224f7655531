package main

import (
	"archive/zip"
	"bytes"
	"debug/macho"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// dist writes a directory as goreleaser does, with one small binary for each system, and makes the packages in it.
func dist(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var artifacts []map[string]string
	for _, system := range systems {
		goos, goarch, _ := strings.Cut(system, "/")
		name := "indus_" + goos + "_" + goarch + "/indus"
		content := []byte("the binary for " + system)
		if goos == "darwin" {
			content = mach(goarch)
		}
		write(t, filepath.Join(dir, name), content)
		artifacts = append(artifacts,
			map[string]string{"type": "Binary", "goos": goos, "goarch": goarch, "path": "out/release/" + name},
			map[string]string{"type": "Archive", "goos": goos, "goarch": goarch, "path": "out/release/x.tar.gz"})
	}
	text, _ := json.Marshal(artifacts)
	write(t, filepath.Join(dir, "artifacts.json"), text)
	write(t, filepath.Join(dir, "metadata.json"), []byte(`{"version":"1.2.3","tag":"v1.2.3"}`))
	write(t, filepath.Join(dir, "checksums.txt"), []byte("00  indus_1.2.3_linux_amd64.tar.gz\n11  server.json\n"))
	t.Setenv("SOURCE_DATE_EPOCH", "1780000000")
	for range 2 { // the second run replaces the packages of the first
		if err := run(dir); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// mach returns a Mach-O binary without commands.
func mach(goarch string) []byte {
	cpu := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[goarch]
	var out bytes.Buffer
	_ = binary.Write(&out, binary.LittleEndian, macho.FileHeader{Magic: macho.Magic64, Cpu: cpu, Type: macho.TypeExec})
	return append(out.Bytes(), make([]byte, 4)...)
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o755); err != nil {
		t.Fatal(err)
	}
}

// read returns a JSON document, checked against a schema unless that is "".
func read(t *testing.T, file, schema string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return check(t, text, schema)
}

func check(t *testing.T, text []byte, schema string) map[string]any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if schema != "" {
		compiled, err := jsonschema.NewCompiler().Compile(schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	return value.(map[string]any)
}

func TestNPMPackagesAgree(t *testing.T) {
	dir := filepath.Join(dist(t), "npm")
	wrapper := read(t, filepath.Join(dir, npmName, "package.json"), "")
	if wrapper["version"] != "1.2.3" || wrapper["scripts"] != nil || wrapper["mcpName"] != registered {
		t.Errorf("the wrapper is %v", wrapper)
	}
	dependencies := wrapper["optionalDependencies"].(map[string]any)
	got := slices.Sorted(maps.Keys(dependencies))
	want := []string{"darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64", "win32-arm64", "win32-x64"}
	for i := range want {
		want[i] = npmName + "-" + want[i]
	}
	if !slices.Equal(got, want) {
		t.Errorf("it depends on %v", got)
	}
	for name, version := range dependencies {
		p := read(t, filepath.Join(dir, name, "package.json"), "")
		system := fmt.Sprintf("%s-%v-%v", npmName, p["os"].([]any)[0], p["cpu"].([]any)[0])
		if p["name"] != name || system != name || p["version"] != version || p["scripts"] != nil {
			t.Errorf("%s %v: %v", name, version, p)
		}
		file := "bin/indus"
		if strings.Contains(name, "win32") {
			file += ".exe"
		}
		if info, err := os.Stat(filepath.Join(dir, name, file)); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: %s cannot be run: %v", name, file, err)
		}
	}
}

func TestBundle(t *testing.T) {
	file := filepath.Join(dist(t), "indus_1.2.3.mcpb")
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, err := fs.ReadFile(z, "manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	check(t, text, "testdata/mcpb.schema.json")
	for _, command := range regexp.MustCompile(`\$\{__dirname\}/([^"]+)`).FindAllSubmatch(text, -1) {
		if info, err := fs.Stat(z, string(command[1])); err != nil || info.Mode() != 0o755 {
			t.Errorf("%s cannot be run: %v", command[1], err)
		}
	}
	fat, err := fs.ReadFile(z, "server/indus-darwin")
	if err != nil {
		t.Fatal(err)
	}
	both, err := macho.NewFatFile(bytes.NewReader(fat))
	if err != nil || len(both.Arches) != 2 || both.Arches[0].Cpu != macho.CpuAmd64 || both.Arches[1].Cpu != macho.CpuArm64 {
		t.Errorf("the universal binary: %v, %v", both, err)
	}
}

func TestServerEntryFitsTheRegistry(t *testing.T) {
	dir := dist(t)
	entry := read(t, filepath.Join(dir, "server.json"), "testdata/server.schema.json")
	sums, _ := os.ReadFile(filepath.Join(dir, "checksums.txt"))
	bundle := entry["packages"].([]any)[2].(map[string]any)
	if line := fmt.Sprintf("%s  indus_1.2.3.mcpb\n", bundle["fileSha256"]); !strings.Contains(string(sums), line) {
		t.Errorf("%q is not among\n%s", line, sums)
	}
	if n := strings.Count(string(sums), "server.json"); n != 1 || !strings.HasPrefix(string(sums), "00  indus_1.2.3") {
		t.Errorf("checksums.txt is\n%s", sums)
	}
}

func TestImage(t *testing.T) {
	index, err := layout.ImageIndexFromPath(filepath.Join(dist(t), "image"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	docker, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range list.Manifests {
		found = append(found, m.Platform.String())
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		file, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		c := file.Config
		entrypoint, _ := json.Marshal(c.Entrypoint)
		command, _ := json.Marshal(c.Cmd)
		spaced := strings.ReplaceAll(string(command), ",", ", ")
		for _, line := range []string{
			"USER " + c.User, "WORKDIR " + c.WorkingDir, "ENV " + c.Env[0], "ENTRYPOINT " + string(entrypoint), "CMD " + spaced,
		} {
			if !strings.Contains(string(docker), "\n"+line+"\n") {
				t.Errorf("the Dockerfile has no %s", line)
			}
		}
		if c.Labels["io.modelcontextprotocol.server.name"] != registered {
			t.Errorf("the labels are %v", c.Labels)
		}
	}
	if !slices.Equal(found, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("it is for %v", found)
	}
}

// TestSameBytes checks that all packages depend on nothing but the release.
func TestSameBytes(t *testing.T) {
	one, two := content(t, dist(t)), content(t, dist(t))
	if !maps.Equal(one, two) || len(one) < 30 {
		t.Errorf("two runs differ, or have only %d files", len(one))
	}
}

func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(dir), path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestNamesAgree checks that goreleaser builds what the packages need, and that the documentation names them.
func TestNamesAgree(t *testing.T) {
	config, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"goos: [linux, darwin, windows]", "goarch: [amd64, arm64]", "&description " + description, "&homepage " + homepage,
		"dist: out/release",
	} {
		if !strings.Contains(string(config), line) {
			t.Errorf(".goreleaser.yaml has no %q", line)
		}
	}
}

func TestMissingBinary(t *testing.T) {
	dir := dist(t)
	write(t, filepath.Join(dir, "artifacts.json"), []byte(`[]`))
	if err := run(dir); err == nil || !strings.Contains(err.Error(), "no binary for linux/amd64") {
		t.Errorf("it gives %v", err)
	}
}

// TestManifestsArePushed pushes manifests to repositories, twice: the second time changes nothing. A prerelease is pushed
// nowhere. gh, which opens the pull request at winget-pkgs, is a program that writes its arguments.
func TestManifestsArePushed(t *testing.T) {
	dir := t.TempDir()
	script, err := os.ReadFile("../../scripts/publish-manifests")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "scripts/publish-manifests"), script)
	write(t, filepath.Join(dir, "bin/gh"), []byte("#!/bin/sh\necho \"$@\" >>"+dir+"/asked\n"))
	for file, repository := range map[string]string{
		"homebrew/Casks/indus.rb": "homebrew-tap", "scoop/indus.json": "scoop-bucket",
		"winget/manifests/i/indusagi/indus/1.2.3/indusagi.indus.yaml": "winget-pkgs",
	} {
		write(t, filepath.Join(dir, "out/release", file), []byte("of "+repository))
		at := filepath.Join(dir, repository)
		git(t, "init", "-q", "-b", "trunk", at)
		write(t, filepath.Join(at, "README"), []byte("there before"))
		git(t, "-C", at, "add", "README")
		git(t, "-C", at, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "begin")
		git(t, "-C", at, "config", "receive.denyCurrentBranch", "ignore")
	}
	publish := func(version string) string {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "scripts/publish-manifests"), version, "file://"+dir)
		cmd.Env = append(os.Environ(), "PATH="+dir+"/bin:"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := publish("1.2.3-rc.1"); !strings.Contains(out, "is a prerelease") {
		t.Error(out)
	}
	publish("1.2.3")
	if out := publish("1.2.3"); strings.Count(out, "already") != 3 {
		t.Error(out)
	}
	for branch, file := range map[string]string{
		"homebrew-tap trunk": "Casks/indus.rb", "scoop-bucket trunk": "indus.json",
		"winget-pkgs indus-1.2.3": "manifests/i/indusagi/indus/1.2.3/indusagi.indus.yaml",
	} {
		repository, branch, _ := strings.Cut(branch, " ")
		at := filepath.Join(dir, repository)
		if got := git(t, "-C", at, "show", branch+":"+file); got != "of "+repository {
			t.Errorf("%s has %q", repository, got)
		}
		if got := git(t, "-C", at, "show", branch+":README"); got != "there before" {
			t.Errorf("%s has %q", repository, got)
		}
		if n := strings.Count(git(t, "-C", at, "log", "--format=%s", branch), "\n"); n != 2 {
			t.Errorf("%s has %d commits", repository, n)
		}
	}
	asked, err := os.ReadFile(dir + "/asked")
	if err != nil || !strings.Contains(string(asked), "pr create --repo microsoft/winget-pkgs --base master --head indusagi:indus-1.2.3") {
		t.Errorf("%v: %s", err, asked)
	}
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// TestActionsArePinned checks that the workflows name each action by a commit, which its publisher cannot move.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	pinned := regexp.MustCompile(`^uses: [\w/.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
			if strings.HasPrefix(line, "uses: ") && !pinned.MatchString(line) {
				t.Errorf("%s: %s", file, line)
			}
		}
	}
}
