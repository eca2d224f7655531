package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed indus.js
var launcher []byte

// npmNames are the names of systems and architectures that differ in Node.
var npmNames = map[string]string{"windows": "win32", "amd64": "x64"}

// npmPackage is the package.json of a package.
type npmPackage struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	MCPName              string            `json:"mcpName,omitempty"` // proves to the MCP registry that the package is ours
	License              string            `json:"license"`
	Homepage             string            `json:"homepage"`
	Repository           map[string]string `json:"repository"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Files                []string          `json:"files"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

func newNPM(r *release, name string) npmPackage {
	return npmPackage{
		Name: name, Version: r.Version, Description: description, License: "MIT", Homepage: homepage,
		Repository: map[string]string{"type": "git", "url": "git+" + homepage + ".git"},
	}
}

// writeNPM writes indus-mcp, which starts the binary of one of its optional dependencies, and these. npm installs only
// the dependency for its own system, and no script runs.
func writeNPM(r *release, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	wrapper := newNPM(r, npmName)
	wrapper.MCPName, wrapper.Files, wrapper.Engines = registered, []string{"indus.js"}, map[string]string{"node": ">=18"}
	// npx runs the command with the name of the package.
	wrapper.Bin = map[string]string{npmName: "indus.js", "indus": "indus.js"}
	wrapper.OptionalDependencies = map[string]string{}
	for system := range r.files {
		p, err := writeNPMBinary(r, dir, system)
		if err != nil {
			return err
		}
		wrapper.OptionalDependencies[p.Name] = p.Version
	}
	readme := fmt.Sprintf("# %s\n\n%s: [indus](%s).\n\n    npx %[1]s serve --stdio\n", npmName, description, homepage)
	return writePackage(dir, wrapper, map[string][]byte{"indus.js": launcher, "README.md": []byte(readme)})
}

// writeNPMBinary writes the package with the binary for a system.
func writeNPMBinary(r *release, dir, system string) (npmPackage, error) {
	content, err := r.binary(system)
	if err != nil {
		return npmPackage{}, err
	}
	goos, goarch, _ := strings.Cut(system, "/")
	platform, arch, file := npmNamed(goos), npmNamed(goarch), "bin/indus"
	if goos == "windows" {
		file += ".exe"
	}
	p := newNPM(r, npmName+"-"+platform+"-"+arch)
	p.OS, p.CPU, p.Files = []string{platform}, []string{arch}, []string{"bin"}
	readme := fmt.Sprintf("# %s\n\nThe binary of [%s](%s) for %s.\n", p.Name, npmName, homepage, system)
	return p, writePackage(dir, p, map[string][]byte{file: content, "README.md": []byte(readme)})
}

func npmNamed(goName string) string {
	if name, ok := npmNames[goName]; ok {
		return name
	}
	return goName
}

func writePackage(dir string, p npmPackage, files map[string][]byte) error {
	for name, content := range files {
		file := filepath.Join(dir, p.Name, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o755)
		if strings.HasSuffix(name, ".md") {
			mode = 0o644
		}
		if err := os.WriteFile(file, content, mode); err != nil {
			return err
		}
	}
	return writeJSON(filepath.Join(dir, p.Name, "package.json"), p)
}
