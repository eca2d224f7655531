package locked

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// requirementLine is a package with its exact version and at least one hash, and nothing else: no URL, no path and no
// option of pip.
var requirementLine = text.Pattern(`^([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+)( --hash=sha256:[0-9a-f]{64})+$`)

// VenvBin is the directory with the programs of an entry of PyPI, below the directory of the entry.
const VenvBin = "venv/bin/"

// requirements returns the packages of an entry of PyPI.
func (e Entry) requirements() ([]Dependency, error) {
	var lines []string
	if err := json.Unmarshal(e.Lock, &lines); err != nil {
		return nil, fmt.Errorf("its requirements cannot be read: %w", err)
	}
	var out []Dependency
	for _, line := range lines {
		parts := requirementLine().FindStringSubmatch(line)
		if parts == nil {
			return nil, fmt.Errorf("%q is no exact version of a package with its hash", text.Clip(line, maxWord))
		}
		out = append(out, Dependency{Name: parts[1], Version: parts[2]})
	}
	own := slices.ContainsFunc(out, func(d Dependency) bool {
		return pypiKey(d.Name) == pypiKey(e.Package) && d.Version == e.Version
	})
	switch {
	case !own:
		return nil, fmt.Errorf("its requirements have no %s %s", e.Package, e.Version)
	case !strings.HasPrefix(e.Program, VenvBin) || strings.Contains(e.Program[len(VenvBin):], "/"):
		return nil, fmt.Errorf("its program %q is not below %s", text.Clip(e.Program, maxWord), VenvBin)
	}
	return out, nil
}

// pypiKey returns the form of a name in which PyPI compares it, without extras (PEP 503).
func pypiKey(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(c rune) bool {
		return c == '-' || c == '_' || c == '.'
	}), "-")
}

// pipReport is the part of pip's installation report that is read (pip install --report, version 1).
type pipReport struct {
	Install []struct {
		Requested bool `json:"requested"`
		Metadata  struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"metadata"`
		DownloadInfo struct {
			ArchiveInfo struct {
				Hashes map[string]string `json:"hashes"`
			} `json:"archive_info"`
		} `json:"download_info"`
	} `json:"install"`
}

// FromPip returns the entry of a spec by the report of pip. runtime is the version of Python for which pip chose.
func FromPip(s Spec, report []byte, runtime string) (Entry, error) {
	var parsed pipReport
	if err := json.Unmarshal(report, &parsed); err != nil {
		return Entry{}, fmt.Errorf("pip wrote no report that can be read: %w", err)
	}
	name := pypiKey(s.Package)
	program := s.Program
	if program == "" {
		program = name
		if bare, _, _ := strings.Cut(s.Package, "["); bare != "" {
			program = bare
		}
	}
	e := Entry{
		From: s.Words, Ecosystem: PyPI, Package: s.Package, Program: VenvBin + program, Runtime: runtime,
	}
	var lines []string
	for _, p := range parsed.Install {
		sum := p.DownloadInfo.ArchiveInfo.Hashes["sha256"]
		lines = append(lines, p.Metadata.Name+"=="+p.Metadata.Version+" --hash=sha256:"+sum)
		if pypiKey(p.Metadata.Name) == name {
			e.Version, e.Integrity = p.Metadata.Version, "sha256:"+sum
		}
	}
	slices.Sort(lines)
	e.Lock, _ = json.Marshal(lines)
	return e, e.check()
}

// Requirements returns the text of a file of requirements for pip.
func (e Entry) Requirements() string {
	var lines []string
	_ = json.Unmarshal(e.Lock, &lines) // checked when it was read
	return strings.Join(lines, "\n") + "\n"
}
