// Command packages makes packages of indus from the binaries of goreleaser: for npm, as an MCP bundle (MCPB), as an OCI
// image, and the entry of the MCP registry (server.json). It publishes nothing. The same binaries give the same bytes.
//
//	packages DIST
//
// DIST is the directory of goreleaser with artifacts.json and metadata.json. The packages are written into it:
//
//	npm/NAME          the npm packages: indus-mcp, and one for each system
//	indus_V.mcpb      the MCP bundle
//	server.json       the entry of the MCP registry
//	image             the OCI image for two architectures, as an image layout
//
// The checksums of the bundle and of server.json are added to checksums.txt.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	description = "One endpoint for many MCP servers"
	homepage    = "https://github.com/indusagi/indus"
	registered  = "io.github.indusagi/indus" // the name in the MCP registry
	npmName     = "indus-mcp"
	imageName   = "ghcr.io/indusagi/indus"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: packages DIST")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

func run(dist string) error {
	r, err := readRelease(dist)
	if err != nil {
		return err
	}
	bundle := fmt.Sprintf("indus_%s.mcpb", r.Version)
	if err := writeBundle(r, filepath.Join(dist, bundle)); err != nil {
		return err
	}
	sum, err := checksum(filepath.Join(dist, bundle))
	if err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(dist, "server.json"), serverEntry(r, bundle, sum)); err != nil {
		return err
	}
	if err := writeNPM(r, filepath.Join(dist, "npm")); err != nil {
		return err
	}
	if err := writeImage(r, filepath.Join(dist, "image")); err != nil {
		return err
	}
	return addChecksums(dist, bundle, "server.json")
}

// release is a finished release of goreleaser.
type release struct {
	Version string    `json:"version"`
	Tag     string    `json:"tag"`
	Time    time.Time `json:"-"` // of the commit
	files   map[string]string
}

// readRelease reads the files that goreleaser writes about a release. SOURCE_DATE_EPOCH is the time of the commit.
func readRelease(dist string) (*release, error) {
	r := &release{files: map[string]string{}}
	if err := readJSON(filepath.Join(dist, "metadata.json"), r); err != nil {
		return nil, err
	}
	var epoch int64
	if _, err := fmt.Sscan(os.Getenv("SOURCE_DATE_EPOCH"), &epoch); err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w; set it to the time of the commit in seconds", err)
	}
	r.Time = time.Unix(epoch, 0).UTC()
	var artifacts []struct {
		Path, Type, GOOS, GOARCH string
	}
	if err := readJSON(filepath.Join(dist, "artifacts.json"), &artifacts); err != nil {
		return nil, err
	}
	for _, a := range artifacts {
		if a.Type == "Binary" { // its path is relative to the directory of .goreleaser.yaml
			r.files[a.GOOS+"/"+a.GOARCH] = filepath.Join(dist, filepath.Base(filepath.Dir(a.Path)), filepath.Base(a.Path))
		}
	}
	return r, nil
}

// binary returns the binary for a system, such as linux/amd64.
func (r *release) binary(system string) ([]byte, error) {
	file, ok := r.files[system]
	if !ok {
		return nil, fmt.Errorf("artifacts.json has no binary for %s: .goreleaser.yaml must build it", system)
	}
	return os.ReadFile(file)
}

func readJSON(file string, v any) error {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w; run goreleaser first", file, err)
	}
	return nil
}

func writeJSON(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func checksum(file string) (string, error) {
	content, err := os.ReadFile(file)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}

// addChecksums adds files of dist to its checksums.txt, or replaces their lines.
func addChecksums(dist string, names ...string) error {
	file := filepath.Join(dist, "checksums.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n"), func(line string) bool {
		return slices.Contains(names, line[strings.LastIndex(line, " ")+1:])
	})
	for _, name := range names {
		sum, err := checksum(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		lines = append(lines, sum+"  "+name)
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}
