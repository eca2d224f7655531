package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/tools"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

const (
	fewNames      = 3    // further ones are counted
	bytesPerToken = 4    // of English and JSON, roughly
	heavyTools    = 8000 // tokens of one server's tools beyond which a person wants to know
)

// listed is all that there is to say of the tools of a server that listed them.
func (d *doctor) listed(x *examined) []step {
	own := d.toolsOf(x.Server.ID)
	var rejected, rules []string
	denied := 0
	for _, q := range d.mounted.Fleet.Quarantined() {
		switch {
		case q.Server != x.Server.ID, q.Mended: // what lint finds by itself
		case q.Denied:
			denied++
		case q.Rule != "":
			rules = append(rules, q.Rule+": "+q.Reason)
		case q.Tool != "":
			rejected = append(rejected, fmt.Sprintf("%q: %s", q.Tool, tools.Reason(q.Reason)))
		default:
			rejected = append(rejected, tools.Reason(q.Reason))
		}
	}
	list := goodStep("list", show.Count(len(own), "tool")).lasting(x.listing)
	if x.pages > 1 {
		list.Detail += fmt.Sprintf(" on %d pages", x.pages)
	}
	if denied > 0 {
		list.Detail += fmt.Sprintf(", and %d that \"tools\" leaves out", denied)
	}
	switch tokens := x.bytes / bytesPerToken; {
	case len(own) == 0 && denied > 0:
		list.Advice = `all of them are left out: change "allow" and "deny" in "tools"`
	case len(own) == 0 && len(rejected) == 0:
		list.Advice = "it has no tools for indus to bring in: does it need an argument, a key or a permission for them?"
	case tokens > heavyTools:
		list.Advice = fmt.Sprintf(`a model reads about %d tokens of them in each request: choose those it needs with "tools": {"allow": […]}`, tokens)
	}
	steps := []step{list}
	if rules != nil {
		steps = append(steps, note("rules", firstFew(rules), `correct them in "tools": names are the server's own, as indus mcp tools --json has them`))
	}
	if len(own)+len(rejected) > 0 {
		steps = append(steps, d.schemas(x.Server, own, rejected))
	}
	if len(own) > 0 {
		steps = append(steps, nameStep(x.Server, own), descriptions(own))
	}
	return steps
}

func (d *doctor) toolsOf(server string) (own []toolbox.Descriptor) {
	for _, t := range d.mounted.Box.Snapshot("").Tools {
		if t.Server == server {
			own = append(own, t)
		}
	}
	return own
}

// schemas asks what lint asks: does every provider take the tools as they are
// mounted, and every client the list that they are in?
func (d *doctor) schemas(o interop.Server, own []toolbox.Descriptor, rejected []string) step {
	x := &tools.Examiner{Profile: schema.Universal}
	if o.Profile != nil {
		x.Profile = o.Profile
	}
	shown := tools.ForModels(d.mounted.Box)
	var odd []string
	for _, t := range own {
		r := x.Tool(t, shown[t.Name])
		if i := slices.IndexFunc(r.Refused, tools.Refuses); i >= 0 {
			rejected = append(rejected, fmt.Sprintf("%q: %s: %s", t.Tool, r.Refused[i].Provider, r.Refused[i].Message))
		}
		for _, f := range r.Findings {
			if f.Provider == command.ClientProfile {
				odd = append(odd, fmt.Sprintf("%q: %s", t.Tool, f.Message))
				break
			}
		}
	}
	lint := "see them all with indus mcp lint " + o.ID + ", and report them to the server's authors"
	switch {
	case rejected != nil:
		return badStep("schemas", firstFew(rejected), lint)
	case odd != nil:
		return note("schemas", firstFew(odd), lint)
	}
	return goodStep("schemas", "every provider takes them as they are mounted")
}

// firstFew is the first of some sentences, and how many more there are.
func firstFew(all []string) string {
	shown := strings.Join(all[:min(fewNames, len(all))], "; ")
	if more := len(all) - fewNames; more > 0 {
		shown += fmt.Sprintf("; and %d more", more)
	}
	return shown
}

// nameStep says which tools are not mounted under their own names.
func nameStep(o interop.Server, own []toolbox.Descriptor) step {
	var hashed []string
	for _, t := range own {
		if t.Name != t.Server+interop.Qualifier+cmp.Or(o.Tools.Rename[t.Tool], t.Tool) {
			hashed = append(hashed, fmt.Sprintf("%q is %s", t.Tool, t.Name))
		}
	}
	if hashed == nil {
		return goodStep("names", "server__tool, as they are")
	}
	return note("names", show.List(hashed, fewNames, "tools"),
		`give the server a shorter id of letters, digits, "-" and single "_", or the tools other names with "tools": {"rename": {…}}`)
}

// descriptions says what a model cannot know.
func descriptions(own []toolbox.Descriptor) step {
	var missing []string
	for _, t := range own {
		if strings.TrimSpace(t.Description) == "" {
			missing = append(missing, fmt.Sprintf("%q", t.Tool))
		}
	}
	if missing == nil {
		return goodStep("descriptions", "each tool has one")
	}
	return note("descriptions", "without one: "+show.List(missing, fewNames, "tools"), `describe them with "tools": {"describe": {…}}, or ask the server's authors to`)
}

// duplicates looks for the same server, or tools of the same name, among the servers examined so far.
func (d *doctor) duplicates(r mcpconfig.Row, listed bool) []step {
	same := slices.IndexFunc(d.seen, func(o interop.Server) bool {
		return interop.Server{Transport: o.Transport}.Equal(interop.Server{Transport: r.Server.Transport})
	})
	d.seen = append(d.seen, r.Server)
	var twice []string
	if listed {
		for _, t := range d.toolsOf(r.Server.ID) {
			if other, taken := d.tools[t.Tool]; taken {
				twice = append(twice, fmt.Sprintf("%q (%s)", t.Tool, other))
			} else {
				d.tools[t.Tool] = r.Server.ID
			}
		}
	}
	switch {
	case same >= 0:
		return []step{note("duplicates", fmt.Sprintf("%q runs the same", d.seen[same].ID), "remove one of the two")}
	case twice != nil:
		return []step{note("duplicates", "other servers have tools of these names: "+show.List(twice, fewNames, "tools"),
			`keep one of each with "tools": {"deny": […]}: a model may take the one for the other`)}
	}
	return nil
}

// together is about all tools at once.
func (d *doctor) together() []step {
	all := d.mounted.Box.Descriptors()
	size := 0
	for _, t := range all {
		size += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	if len(all) == 0 || !d.all {
		return nil
	}
	s := goodStep("tools", fmt.Sprintf("%s for a model, of about %d tokens", show.Count(len(all), "tool"), size/bytesPerToken))
	if found := schema.CheckCount(len(all), schema.Universal); found != nil {
		s.Detail += "; " + found[0].Message
		s.Advice = `choose with "tools": {"allow": […]}, or disable servers that are not needed`
	} else if few := schema.Universal.Rules().Tool.FewTools; few > 0 && len(all) > 2*few {
		s.Advice = fmt.Sprintf(`models choose best among %d or so: leave out what is not needed with "tools": {"allow": […]}`, few)
	}
	return []step{s}
}
