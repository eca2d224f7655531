package tools

import (
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/schema"
)

// remark is one thing to say of a tool, with every place in it where it is so.
type remark struct {
	places []string
	text   string
}

func (m *remark) String() string {
	if len(m.places) == 0 {
		return m.text
	}
	return show.List(m.places, maxPlaces, "places") + ": " + m.text
}

// remarks are what there is to say of a tool, from one point of view.
type remarks func(*ToolReport) []*remark

// mountRemarks is about what becomes of a tool when it is mounted: what is wrong, what
// is lost, and where all is wanted every change.
func mountRemarks(all bool) remarks {
	return func(t *ToolReport) []*remark {
		n := remarkList{}
		n.quarantine(t)
		for _, o := range objections(t.Refused) {
			n.add(o.place, "refused even so: "+o.text())
		}
		for _, c := range t.Changes {
			if all || losesMeaning(c) {
				n.change(c)
			}
		}
		for _, f := range t.Findings {
			if f.Provider == indusProvider {
				n.add(placeText(f.Path, f.Rule), "warning: "+f.Message)
			} else if f.Provider == command.ClientProfile {
				n.add(f.Path, f.Message)
			}
		}
		return n.all
	}
}

// changeRemarks are what was done to one tool.
func changeRemarks(all []schema.Change) []*remark {
	n := remarkList{}
	for _, c := range all {
		n.change(c)
	}
	return n.all
}

// providerRemarks is about what providers refuse of a tool that nobody rewrites for them.
// Where there are several they are named; what is only dropped is then told where
// all is wanted.
func providerRemarks(several, all bool) remarks {
	return func(t *ToolReport) []*remark {
		n := remarkList{}
		n.quarantine(t)
		for _, o := range objections(t.Findings) {
			text := o.text()
			if several {
				text += " (" + o.who() + ")"
			} else if o.refuse == nil && o.warn != nil {
				text = "warning: " + text
			}
			if !several || all || o.refuse != nil || slices.Contains(o.warn, indusProvider) {
				n.add(o.place, text)
			}
		}
		return n.all
	}
}

// remarkList are remarks, each text once.
type remarkList struct {
	all    []*remark
	byText map[string]*remark
}

func (n *remarkList) quarantine(t *ToolReport) {
	if t.Quarantined != "" {
		n.add("", "quarantined: "+t.Quarantined)
	}
}

func (n *remarkList) change(c schema.Change) {
	said := []string{c.Did}
	if what, ok := strings.CutPrefix(c.Did, "dropped "); ok && strings.HasPrefix(c.Lost, what) {
		said = []string{"lost " + c.Lost} // or else it is said twice
	} else if c.Lost != "" {
		said = append(said, "lost: "+c.Lost)
	}
	if c.Narrowed != "" {
		said = append(said, "narrowed: "+c.Narrowed)
	}
	n.add(placeText(c.Path, c.Rule), strings.Join(said, "; "))
}

// add adds a remark, or a place to the one of that text.
func (n *remarkList) add(place, text string) {
	m := n.byText[text]
	if m == nil {
		m = &remark{text: text}
		if n.byText == nil {
			n.byText = map[string]*remark{}
		}
		n.byText[text] = m
		n.all = append(n.all, m)
	}
	if place = show.Cut(place, maxPlace); place != "" && !slices.Contains(m.places, place) {
		m.places = append(m.places, place)
	}
}

// placeText is where in a tool something is; "" where what it is says that.
func placeText(path string, rule schema.Rule) string {
	if path == "" && rule != schema.RuleName && rule != schema.RuleDescription {
		return "root"
	}
	return path
}

// objection is what several providers have to say about one place.
type objection struct {
	spot
	accepted           string   // what each of them accepts there; "" where they differ
	refuse, warn, drop []string // who
}

// spot is what is wrong, and where. Whoever drops something says it in words of
// their own.
type spot struct {
	place string
	rule  schema.Rule
	wrong string
}

// maxAccepted is how long a list of what is accepted may be for a person to read.
const maxAccepted = 64

func objections(all []Finding) []*objection {
	var out []*objection
	known := map[spot]*objection{}
	for _, f := range all {
		wrong, accepted, _ := strings.Cut(f.Message, "; ")
		rule := f.Rule
		if rule == schema.RuleUnlisted { // one drops or does not list what another refuses
			rule = schema.RuleKeyword
		}
		at := spot{placeText(f.Path, f.Rule), rule, wrong}
		anyhow := spot{place: at.place, rule: rule}
		o := known[at]
		if o == nil && f.Ignored {
			o = known[anyhow]
		}
		if o == nil {
			o = &objection{spot: at, accepted: accepted}
			known[at], known[anyhow] = o, o
			out = append(out, o)
		}
		if o.accepted != accepted {
			o.accepted = ""
		}
		switch {
		case f.Ignored:
			o.drop = append(o.drop, f.Provider)
		case f.Class == schema.Conservative:
			o.warn = append(o.warn, f.Provider)
		default:
			o.refuse = append(o.refuse, f.Provider)
		}
	}
	return out
}

// text is what is wrong, and what is accepted where that is short.
func (o *objection) text() string {
	if o.accepted == "" || len(o.accepted) > maxAccepted {
		return o.wrong
	}
	return o.wrong + "; " + o.accepted
}

func (o *objection) who() string {
	var who []string
	for _, some := range []struct {
		names         []string
		before, after string
	}{{o.refuse, "", ""}, {o.warn, "warning: ", ""}, {o.drop, "", " drops it"}} {
		if some.names != nil {
			who = append(who, some.before+strings.Join(some.names, ", ")+some.after)
		}
	}
	return strings.Join(who, "; ")
}
