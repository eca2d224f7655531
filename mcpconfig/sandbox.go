package mcpconfig

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// readBox reads a sandbox: a word, or an object. Any mistake makes the part unusable, because a field that is left out
// could have been the one that matters.
func (r *valuedRow) readBox(field string, v *hujson.Value) *config.Sandbox {
	if tree.Has(v, '"') {
		switch word := r.oneOf("strict", "package", "off")(field, v); word {
		case "off", "":
			return nil
		default:
			return &config.Sandbox{Base: config.Base(word)}
		}
	}
	if !tree.Has(v, '{') {
		reason := `%q is %s where "strict", "package", "off" or an object is expected`
		r.skip(v.StartOffset, fmt.Sprintf(reason, field, tree.KindOf(v.Value)), "")
		return nil
	}
	s := &config.Sandbox{Base: config.Strict}
	limits := &s.Limits
	r.object(field, v, true,
		member{"base", func(field string, v *hujson.Value) {
			s.Base = config.Base(r.oneOf("strict", "package")(field, v))
		}},
		member{"read", storeIn(&s.Read, r.boxPaths(noWarning))},
		member{"write", storeIn(&s.Write, r.boxPaths(r.writeWarning))},
		member{"hosts", func(field string, v *hujson.Value) {
			s.Hosts = listOf(&r.findings, "a list of hosts", field, v, r.boxHost)
		}},
		member{"listen", func(field string, v *hujson.Value) {
			s.Listen = listOf(&r.findings, "a list of ports", field, v, r.whole(0, 65535, "0 is any free port"))
		}},
		member{"sockets", storeIn(&s.Sockets, r.boxPaths(socketWarning))},
		member{"limits", func(field string, v *hujson.Value) {
			r.object(field, v, true,
				member{"files", storeIn(&limits.Files, r.whole(16, 1<<20, ""))},
				member{"memory", storeIn(&limits.Memory, r.size("16MiB", "1GiB"))},
				member{"processes", storeIn(&limits.Processes, r.whole(1, 100_000, ""))},
			)
		}},
		member{"home", func(field string, v *hujson.Value) { s.RealHome = r.oneOf("private", "real")(field, v) == "real" }},
		member{"user", func(field string, v *hujson.Value) {
			if s.User = r.boxText(field, v).text; s.User == "root" || s.User == "0" {
				r.skip(v.StartOffset, field+": a sandbox of root is none", "name another user")
			}
		}},
		member{"proc", func(field string, v *hujson.Value) { s.NoProc = !r.boolean(field, v) }},
		member{"required", func(field string, v *hujson.Value) { s.Optional = !r.boolean(field, v) }},
	)
	isInHome := func(path string) bool {
		home := atomicfile.Real(r.place.Home)
		return r.place.Home != "" && (isWithin(home, path) || isWithin(path, home))
	}
	if s.RealHome && !slices.ContainsFunc(slices.Concat(s.Read, s.Write), isInHome) {
		r.skip(v.StartOffset, `"home" is "real", and neither "read" nor "write" has a path in it`,
			"name what the server needs there")
	}
	return s
}

// boxText reads a text of a sandbox. It must be known before the server is approved, so it has no value to fetch.
func (r *valuedRow) boxText(field string, v *hujson.Value) textValue {
	value := r.filled(field, v)
	switch {
	case len(value.fetches) > 0:
		r.skip(v.StartOffset, field+": ${file:…} and ${cmd:…} are not read here", "take a variable, ${NAME}")
	case value.text == "" && !r.skipped:
		r.skip(v.StartOffset, field+" is empty", "")
	}
	if r.skipped {
		return textValue{}
	}
	return value
}

// boxPaths returns a function that reads a list of paths. Their symbolic links are resolved, because the place to which
// a link leads is what is allowed. warning returns what a person should know about a path, or "".
func (r *valuedRow) boxPaths(warning func(path string) string) func(field string, v *hujson.Value) []string {
	read := func(field string, v *hujson.Value) string {
		value := r.boxText(field, v)
		if value.text == "~" {
			value = value.as("~/")
		}
		path := r.fullPath(value).text
		switch {
		case value.text == "":
			return ""
		case strings.HasPrefix(r.tilde(value.text), "~"):
			r.skip(v.StartOffset, field+` begins with "~" and does not name a known home directory`, "write the whole path")
		case !filepath.IsAbs(path):
			r.skip(v.StartOffset, field+" is a relative path, and the directory of this file is not known", "")
		}
		path = atomicfile.Real(path)
		if reason := warning(path); reason != "" && !r.skipped {
			r.note(v.StartOffset, field+": "+reason, "")
		}
		return path
	}
	return func(field string, v *hujson.Value) []string {
		return listOf(&r.findings, "a list of paths", field, v, read)
	}
}

func noWarning(string) string { return "" }

// writeWarning returns a warning if a server could change the rules of its own sandbox by a path.
func (r *valuedRow) writeWarning(path string) string {
	var own []string
	if r.place.State != "" {
		own = append(own, r.place.State)
	}
	for _, scope := range []Scope{User, Legacy, LegacyAlt} {
		if file := r.place.pathOf(scope, ""); file != "" {
			own = append(own, filepath.Dir(file))
		}
	}
	for _, dir := range own {
		if dir = atomicfile.Real(dir); isWithin(path, dir) || isWithin(dir, path) {
			return "the server can change the files of indus there, and so its own sandbox"
		}
	}
	return ""
}

// socketWarning returns a warning if a socket gives away the machine.
func socketWarning(path string) string {
	for _, engine := range []string{"docker.sock", "podman.sock", "containerd.sock", "crio.sock"} {
		if filepath.Base(path) == engine {
			return "with this socket the server can start a container with any file of the machine"
		}
	}
	return ""
}

func (r *valuedRow) boxHost(field string, v *hujson.Value) string {
	written := r.boxText(field, v).text
	if written == "" {
		return ""
	}
	host, err := config.CanonicalHost(written)
	if err != nil {
		r.skip(v.StartOffset, field+" "+err.Error(), `write "api.example.com:443", or "*.example.com:443"`)
	}
	return host
}

// readBoxValue reads a sandbox that stands for the rows of a file.
func (s *site) readBoxValue(name string, v *hujson.Value, budget *int) (boxValue, *findings) {
	r := newPart(name+" cannot be used: ", v.StartOffset, s, budget)
	out := boxValue{box: r.readBox(name, v)}
	if r.skipped {
		out = boxValue{wrong: fmt.Sprintf("%q cannot be used: %s", name, r.reason)}
	}
	return out, &r.findings
}

// confine returns the sandbox of a row with a command. If the sandbox cannot be read, or if a project's row would be
// wider than its user allows, the row is skipped.
func (r *valuedRow) confine(t config.Stdio) *config.Sandbox {
	v := r.fields["sandbox"]
	at, name := r.at, `"sandboxDefault"`
	var box *config.Sandbox
	isLimited := r.inProject() && !r.isUserFile()
	switch {
	case v != nil:
		at, name = v.StartOffset, `"sandbox"`
		box = r.readBox("sandbox", v)
	case r.boxDefault != nil:
		box = r.useBox(*r.boxDefault)
	case isLimited:
		name, isLimited = "the sandbox that your own file has for projects", false
		box = r.userDefault()
	}
	if isLimited && !r.skipped {
		limit := r.useBox(r.projectLimit())
		if more := box.Beyond(limit); len(more) > 0 && !r.skipped {
			r.skip(at, name+" of a project allows more than your own files allow projects: "+strings.Join(more, ", "),
				`remove it, or allow it in "sandboxProject" of your own file`)
		}
	}
	if box == nil || r.skipped {
		return nil
	}
	if t.ActsElsewhere() {
		r.skip(at, fmt.Sprintf("%s does its work outside of its own process, where %s does not confine it",
			tree.QuoteWord(t.Command), name), `remove it, or write "sandbox": "off"`)
		return nil
	}
	own := *box
	if !own.RealHome {
		if own.Home = r.boxHome(r.id); own.Home == "" {
			r.skip(at, "there is no directory for the home of its sandbox", "set HOME or XDG_STATE_HOME")
		}
	}
	return &own
}

func (r *valuedRow) useBox(v boxValue) *config.Sandbox {
	if v.wrong != "" {
		r.skip(r.at, v.wrong, "")
	}
	return v.box
}

// userDefault returns the sandbox that the user's own files have for a project's row without one of its own. A row that
// takes the name of a confined server of the user is confined as well.
func (r *valuedRow) userDefault() *config.Sandbox {
	own := r.place.userBoxes()
	switch {
	case own.wrong != "":
		return r.useBox(boxValue{wrong: own.wrong})
	case own.byDefault != nil:
		return r.useBox(own.byDefault(r.site))
	case own.confined[r.id]:
		return r.useBox(r.projectLimit())
	}
	return nil
}

// projectLimit returns the widest sandbox that a row of the project may have. Without "sandboxProject" it can read the
// project and write nothing.
func (r *valuedRow) projectLimit() boxValue {
	own := r.place.userBoxes()
	switch {
	case own.wrong != "":
		return boxValue{wrong: own.wrong}
	case own.inProject != nil:
		return own.inProject(r.site)
	}
	box := &config.Sandbox{Base: config.Strict}
	if r.place.territoryOf(r.workspace()) != "" {
		box.Read = []string{atomicfile.Real(r.workspace())}
	}
	return boxValue{box: box}
}
