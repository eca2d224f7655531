package doctor

import (
	"fmt"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

const (
	fewReasons    = 3    // further ones are counted
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
			rejected = append(rejected, fmt.Sprintf("%q: %s", q.Tool, strings.TrimPrefix(q.Reason, "schema: ")))
		default:
			rejected = append(rejected, strings.TrimPrefix(q.Reason, "schema: "))
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
		steps = append(steps, mountable(x.Server.ID, rejected))
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

// mountable says whether every tool is mounted, in a shape that its profile accepts; lint looks at the
// tools themselves.
func mountable(server string, rejected []string) step {
	if rejected != nil {
		advice := "see them all with indus mcp lint " + server + ", and report them to the server's authors"
		return badStep("schemas", firstFew(rejected), advice)
	}
	return goodStep("schemas", "every provider takes them as they are mounted")
}

// firstFew is the first of some sentences, and how many more there are.
func firstFew(all []string) string {
	shown := strings.Join(all[:min(fewReasons, len(all))], "; ")
	if more := len(all) - fewReasons; more > 0 {
		shown += fmt.Sprintf("; and %d more", more)
	}
	return shown
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
