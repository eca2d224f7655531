package locked

import (
	"cmp"
	"maps"
	"slices"
)

// Dependencies returns the packages of the entry, with the server's own, sorted by name and version, each once.
func (e Entry) Dependencies() []Dependency {
	var all []Dependency
	if e.Ecosystem == NPM {
		byPlace, _ := e.npmPackages()
		all = slices.Collect(maps.Values(byPlace))
	} else {
		all, _ = e.requirements()
	}
	slices.SortFunc(all, func(a, b Dependency) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return slices.Compact(all)
}

// Scripted returns the names of the packages with a script that runs at their installation.
func (e Entry) Scripted() (names []string) {
	for _, d := range e.Dependencies() {
		if d.HasScript {
			names = append(names, d.Name)
		}
	}
	return slices.Compact(names)
}

// Change is a package that differs between two entries. Before is "" if it is new, and After is "" if it is gone.
type Change struct {
	Name, Before, After string
	// NewScript is set if the package has an install script now and had none before.
	NewScript bool
}

// Changes compares the packages of two entries, by name. Of a package in several versions all versions count.
func Changes(before, after Entry) (out []Change) {
	type state struct {
		versions string
		script   bool
	}
	read := func(e Entry) map[string]state {
		m := map[string]state{}
		for _, d := range e.Dependencies() {
			s := m[d.Name]
			if s.versions != "" {
				s.versions += ", "
			}
			m[d.Name] = state{s.versions + d.Version, s.script || d.HasScript}
		}
		return m
	}
	old, now := read(before), read(after)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was := old[name]; was != now[name] {
			out = append(out, Change{name, was.versions, now[name].versions, now[name].script && !was.script})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, stays := now[name]; !stays {
			out = append(out, Change{Name: name, Before: old[name].versions})
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
