package page

import (
	"net/url"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/page/readable"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

const overviewTopics = "servers approvals tools calls policy"

func overviewPage(v *visit, o *overview) Node {
	return Group{
		Div(ID("needs"), liveOn(overviewTopics), needList(v, o)),
		H2(Text("Now")),
		Ul(Class("tiles"), ID("overview-tiles"), liveOn(overviewTopics), Map(o.tiles(), tileLink)),
		P(Text("Clients connect at "), Code(Text(show.Escaped(o.Address))), Text(": see "),
			A(hrefTo("/connect"), Text("how")), Text(".")),
		hintLine(Text("Everything here is also a command: "), Code(Text("indus page SECTION")),
			Text(" prints a section as JSON, and "), Code(Text("indus help")), Text(" lists the others.")),
	}
}

func tileLink(t tile) Node {
	return Li(A(hrefTo("/"+t.section.path), Span(Class("label"), Text(t.section.title)), Text(" "),
		Strong(Span(If(t.class != "", Class(t.class)), Text(t.count))), Text(" "),
		Span(Class("soft"), Text(t.text))))
}

// needList shows everything that waits for a person, the most urgent first.
func needList(v *visit, o *overview) Node {
	n := &o.Needs
	if n.isEmpty() {
		return P(Class("quiet"), Text("Nothing waits for a person."))
	}
	return Group{
		needGroup("Waiting calls", &approvalsSection, o.Approvals.Waiting, len(n.Calls),
			Map(n.Calls, func(row approvalRow) Node { return callNeed(v, &row) })),
		If(n.Policy != "", Group{H2(Text("The policy cannot be used")), needCard(
			P(Class("bad"), Text("The policy that was loaded before goes on. "), A(hrefTo("/policy"), Text("Policy"))),
			textBlock("The problem of the policy", escapedLines(n.Policy)))}),
		needGroup("New and changed tools", &changesSection, n.changed, len(n.Tools),
			Map(n.Tools, func(row changedRow) Node { return toolNeed(&row) })),
		needGroup("Servers down", &serversSection, n.down, len(n.Servers),
			Map(n.Servers, func(row serverRow) Node { return serverNeed(v, &row) })),
		needGroup("Sign-ins needed", &signInsSection, len(n.SignIns), len(firstOf(n.SignIns)),
			Map(firstOf(n.SignIns), signInNeed)),
		If(len(n.Replicas) > 0, Group{H2(Text("Replicas")), needCard(
			Map(n.Replicas, func(one string) Node { return P(Class("bad"), Text(show.Escaped(one))) }))}),
	}
}

// needGroup is a list of cards with its title. all counts the entries, of which some are shown.
func needGroup(title string, s *section, all, shown int, cards Node) Node {
	if shown == 0 {
		return nil
	}
	return Group{
		H2(Text(title), countMark(s, all)),
		Div(Class("needs"), cards),
		If(all > shown, P(A(hrefTo("/"+s.path), Textf("All %d", all)))),
	}
}

func needCard(inside ...Node) Node { return Article(Class("card need"), Group(inside)) }

// callNeed is a call that waits, with both decisions.
func callNeed(v *visit, row *approvalRow) Node {
	i := &row.Item
	title, fields, first := "approval-"+i.ID, []string{"id", i.ID}, readable.First(i.Shown)
	return Article(Class("card need urgent"), Aria("labelledby", title),
		callHead(i, H3(ID(title), callTitle(i))),
		If(first != "", P(Class("mono first"), Text(first))),
		If(row.Change != nil || i.Changed != "", P(Class("warn"), Text("The tool is not the version that was approved."))),
		Div(Class("actions"),
			If(row.MayAllow, overviewForm(&approvalsSection, "allow", fields, allowButton(i.ID))),
			If(row.MayDeny, overviewForm(&approvalsSection, "deny", fields, denyButton(i.ID))),
			A(hrefTo("/approvals?id="+i.ID), Aria("describedby", title), Text("All of it")),
		),
		If(row.Refusal != "", P(Class("soft"), Text("You cannot allow it: "+show.Escaped(row.Refusal)+"."))),
	)
}

// overviewForm is the form of an action of another section. After it, the visitor sees the overview again.
func overviewForm(s *section, action string, hidden []string, inside Node) Node {
	return sectionForm(s, action, append([]string{"from", "overview"}, hidden...), inside)
}

// toolNeed is a new or changed tool, with the first of its changes.
func toolNeed(row *changedRow) Node {
	return needCard(
		P(Strong(Text(show.Escaped(row.Name))), Span(Class("soft"), Text(" "+row.State()))),
		If(len(row.Fields) > 0, Dl(Class("facts"), Map(row.Fields[:min(len(row.Fields), 2)], changedPlace))),
		P(A(hrefTo("/changes#tool-"+row.Sum), Text("Read and decide"))),
	)
}

// signInNeed is a server whose sign-in is missing or has lapsed.
func signInNeed(server string) Node {
	return needCard(P(Strong(Text(show.Escaped(server))), Span(Class("soft"), Text(" has no sign-in, or it has lapsed"))),
		P(A(hrefTo("/sign-ins#server-"+url.PathEscape(server)), Text("Sign in"))))
}

// serverNeed is a server that is down: the reason, the next attempt, and a way to restart it now.
func serverNeed(v *visit, row *serverRow) Node {
	return needCard(
		P(Strong(Text(row.ID)), nextAttempt(row.Retry)),
		P(Class("bad"), Text(shortFault(row))),
		P(Class("soft"), Text(row.Advice)),
		Div(Class("actions"), overviewForm(&serversSection, "restart", []string{"server", row.ID},
			Button(ID("restart-"+row.ID), Aria("label", "Restart "+row.ID), Text("Restart"))),
			A(hrefTo("/servers?q="+url.QueryEscape(row.ID)), Aria("label", "Details of "+row.ID), Text("Details"))),
	)
}

// nextAttempt is the time until the next attempt to connect, if there is one.
func nextAttempt(at time.Time) Node {
	left := time.Until(at).Round(time.Second)
	switch {
	case at.IsZero():
		return Span(Class("soft"), Text(" is not tried again by itself"))
	case left <= 0:
		return Span(Class("soft"), Text(" is being tried again now"))
	}
	return Span(Class("soft"), Text(" is tried again in "), untilMark(at, left.String()))
}

// shortFault returns the fault of a server without its name, and without most of a long output.
func shortFault(row *serverRow) string {
	return show.Cut(strings.TrimPrefix(row.Fault, row.ID+": "), 300)
}
