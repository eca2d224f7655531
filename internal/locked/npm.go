package locked

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// Dependency is a package of an entry: the server's own, or one that it needs.
type Dependency struct {
	Name, Version string
	HasScript     bool // it has a script that runs at its installation
}

// npmLock is the part of a package-lock.json that is read.
type npmLock struct {
	LockfileVersion int `json:"lockfileVersion"`
	Packages        map[string]struct {
		Name             string `json:"name"`
		Version          string `json:"version"`
		Integrity        string `json:"integrity"`
		Resolved         string `json:"resolved"`
		Link             bool   `json:"link"`
		InBundle         bool   `json:"inBundle"`
		HasInstallScript bool   `json:"hasInstallScript"`
		Bin              any    `json:"bin"`
	} `json:"packages"`
}

const modules = "node_modules/"

// npmPackages returns the packages of an entry by their places below the entry's directory. A package without a hash,
// with an address of its own, or outside of that directory is refused: what it is would not be decided by the lock.
func (e Entry) npmPackages() (map[string]Dependency, error) {
	var lock npmLock
	if err := json.Unmarshal(e.Lock, &lock); err != nil {
		return nil, fmt.Errorf("its package-lock.json cannot be read: %w", err)
	}
	if lock.LockfileVersion != 3 {
		return nil, fmt.Errorf("its package-lock.json has version %d in place of 3", lock.LockfileVersion)
	}
	out := map[string]Dependency{}
	for _, place := range slices.Sorted(maps.Keys(lock.Packages)) {
		p := lock.Packages[place]
		if place == "" {
			continue
		}
		shown := text.Clip(place, maxWord)
		at := strings.LastIndex(place, modules)
		switch {
		case !strings.HasPrefix(place, modules) || strings.Contains("/"+place+"/", "/../") ||
			strings.ContainsAny(place, "\\\x00"):
			return nil, fmt.Errorf("%q is no place of a package", shown)
		case p.Link:
			return nil, fmt.Errorf("%s is a link to a directory, which has no hash", shown)
		case p.Resolved != "":
			return nil, fmt.Errorf("%s has an address of its own, and only packages of your registry can be locked", shown)
		case p.Integrity == "" && !p.InBundle:
			return nil, fmt.Errorf("%s has no hash", shown)
		case p.Integrity != "" && !strings.HasPrefix(p.Integrity, "sha512-"):
			return nil, fmt.Errorf("%s has a hash that is not of SHA-512", shown)
		}
		name := p.Name
		if name == "" {
			name = place[at+len(modules):]
		}
		out[place] = Dependency{Name: name, Version: p.Version, HasScript: p.HasInstallScript}
	}
	return out, e.checkNPMRoot(lock)
}

// checkNPMRoot checks that the package which runs is the one that the entry names.
func (e Entry) checkNPMRoot(lock npmLock) error {
	own := lock.Packages[modules+e.Package]
	switch {
	case own.Version != e.Version || own.Integrity != e.Integrity:
		return fmt.Errorf("its package-lock.json has another %s than %s", e.Package, e.Version)
	case !strings.HasPrefix(e.Program, modules+e.Package+"/"):
		return fmt.Errorf("its program %q is not one of %s", text.Clip(e.Program, maxWord), e.Package)
	}
	return nil
}

// FromNPM returns the entry of a spec by the package-lock.json that npm wrote for it.
func FromNPM(s Spec, lock []byte) (Entry, error) {
	var parsed npmLock
	if err := json.Unmarshal(lock, &parsed); err != nil {
		return Entry{}, fmt.Errorf("npm wrote no package-lock.json that can be read: %w", err)
	}
	own, ok := parsed.Packages[modules+s.Package]
	if !ok {
		return Entry{}, fmt.Errorf("npm locked no package %q", s.Package)
	}
	program, err := npmProgram(s, own.Bin)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{
		From: s.Words, Ecosystem: NPM, Package: s.Package, Version: own.Version, Integrity: own.Integrity,
		Program: modules + s.Package + "/" + program, Lock: lock,
	}
	return e, e.check()
}

// npmProgram returns the file that npx would run: of several programs the one with the name of the package.
func npmProgram(s Spec, bin any) (string, error) {
	base := s.Package[strings.LastIndex(s.Package, "/")+1:]
	programs := map[string]string{}
	switch bin := bin.(type) {
	case string:
		programs[base] = bin
	case map[string]any:
		for name, file := range bin {
			programs[name], _ = file.(string)
		}
	}
	names := slices.Sorted(maps.Keys(programs))
	wanted := s.Program
	switch {
	case len(names) == 0:
		return "", fmt.Errorf("%s has no program", s.Package)
	case wanted == "" && len(names) == 1:
		wanted = names[0]
	case wanted == "":
		wanted = base
	}
	file := strings.TrimPrefix(programs[wanted], "./")
	if file == "" {
		return "", fmt.Errorf("%s has no program %q; it has %s", s.Package, wanted, strings.Join(names, ", "))
	}
	if strings.Contains("/"+file+"/", "/../") || strings.HasPrefix(file, "/") {
		return "", errors.New("its program is not below its package")
	}
	return file, nil
}
