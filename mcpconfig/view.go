package mcpconfig

import (
	"fmt"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
	"github.com/indusagi/indus/schema"
)

// View is a selection of servers and of their tools, as a file has it in "views". A client of a gateway sees the
// selection at /mcp/@NAME.
type View struct {
	// Name has letters, digits, ".", "_" and "-", and at most 64 characters.
	Name string
	// Servers are patterns of ids, with * and ?. If it is nil, all servers are selected.
	Servers []string
	// Tools, Prompts and Resources are patterns: server__tool, server__prompt and server__URI. They select parts of
	// these servers. If all are nil, the servers are selected as a whole. If only Prompts is nil, Tools selects prompts
	// too.
	Tools, Prompts, Resources []string
	// Mode is how the tools are listed: "all" lists each tool, and "gateway" lists four tools instead. If it is "", the
	// default of the gateway is used.
	Mode string
	// Profile shapes the schemas of the tools. If it is nil, they are as their servers wrote them.
	Profile *schema.Profile
	// Publish is set if indus serve publishes the view in its registry and with a server card. A project's file that was
	// only discovered cannot set it.
	Publish bool
	// File and Line are the position at which the view begins.
	File string
	Line int
}

// viewEntry is a view with the values that only the reading needs.
type viewEntry struct {
	View
	source     *source
	unreadable bool // it cannot be read; its name stays taken, or a wider view might get it
}

const maxViews = 100 // of one file: each has clients and lists of its own

// viewName matches names that need no escaping in a path. They also have at most 64 characters.
var viewName = text.Pattern(`^[A-Za-z0-9._-]+$`)

// readViews reads the member "views". As with the rules about tools, a mistake is more than a note. A view that cannot
// be read is left out, or it could show tools against the intention of the author.
func (f *configFile) readViews(v *hujson.Value) {
	if tree.Has(v, 'n') {
		return
	}
	if !tree.Has(v, '{') {
		f.note(v.StartOffset, `"views" is `+tree.KindOf(v.Value)+" where an object is expected", "")
		return
	}
	for name, m := range tree.Members(v) {
		switch {
		case tree.IsComment(name):
			continue
		case len(f.views) == maxViews:
			f.note(m.Name.StartOffset, fmt.Sprintf("more than %d views; from here on they are not read", maxViews), "")
			return
		}
		f.view(name, m)
	}
}

func (f *configFile) view(name string, m *hujson.ObjectMember) {
	r := newPart("view "+tree.Quote(name)+" is left out: ", m.Name.StartOffset, f.site, &f.budget)
	out := viewEntry{View: View{Name: name, File: f.path}, source: f.source}
	out.Line, _ = f.doc.Position(m.Name.StartOffset)
	if len(name) > 64 || !viewName().MatchString(name) {
		r.skip(m.Name.StartOffset, "it stands in a URL", `write letters, digits, ".", "_" and "-", at most 64`)
	}
	r.object("views."+name, &m.Value, true,
		member{"servers", storeIn(&out.Servers, r.patterns)},
		member{"tools", storeIn(&out.Tools, r.patterns)},
		member{"prompts", storeIn(&out.Prompts, r.patterns)},
		member{"resources", storeIn(&out.Resources, r.patterns)},
		member{"mode", storeIn(&out.Mode, r.oneOf("all", "gateway"))},
		member{"profile", func(field string, v *hujson.Value) {
			out.Profile = schema.ProfileNamed(r.oneOf(profileNames()...)(field, v))
		}},
		member{"publish", storeIn(&out.Publish, r.boolean)},
	)
	f.report(&r.findings, 0)
	out.Publish = out.Publish &&
		f.maySet(m.Name.StartOffset, `"publish" is not heeded: a project's file does not publish a view`)
	out.unreadable = r.skipped
	f.views = append(f.views, out)
}

// resolveViews returns the views that count, one for each name. The file with the higher precedence for servers wins. A
// project's file that was only discovered comes last, so that a cloned repository widens no view of the user.
func resolveViews(sources []*source) (out []View) {
	var claims []viewEntry
	for _, s := range sources {
		for _, v := range s.views {
			i := slices.IndexFunc(claims, func(c viewEntry) bool { return c.Name == v.Name })
			if i < 0 {
				claims = append(claims, v)
				continue
			}
			old, loser := claims[i], v
			if old.source == s || s.approved && !old.source.approved ||
				s.approved == old.source.approved && s.group > old.source.group {
				claims[i], loser = v, old
			}
			by := claims[i]
			s.notes = append(s.notes, Note{
				File: loser.File, Line: loser.Line, Column: 1,
				Reason: fmt.Sprintf("view %s: defined at %s:%d too, which takes precedence",
					tree.Quote(v.Name), by.File, by.Line),
				Hint: "remove or rename one of the two",
			})
		}
	}
	for _, c := range claims {
		if !c.unreadable {
			out = append(out, c.View)
		}
	}
	return out
}
