package page

import (
	"net/url"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/page/readable"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/approval"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func approvalsPage(v *visit, d *approvalsData) Node {
	return Group{
		P(ID("approvals-count"), Role("status"), liveOn("approvals"), Text(counted(d.Total, "No call waits for approval.",
			"call waits for approval.", "calls wait for approval."))),
		Div(ID("approvals-waiting"), liveOn("approvals"),
			Map(d.Waiting, func(row approvalRow) Node { return waitingCard(v, &row) }), pageLinks(v, d.pagination)),
		Div(ID("approvals-past"), liveOn("approvals"), H2(Text("Past")), pastTable(v, d)),
		hintLine(Text("Also: "), Code(Text("indus approvals")), Text(", and "), Code(Text("indus approvals watch")),
			Text(" on a terminal.")),
	}
}

// waitingCard is a call that waits: the request, the arguments, the decision and then the facts.
func waitingCard(v *visit, row *approvalRow) Node {
	title := "approval-" + row.ID
	return Article(Class("card urgent"), Aria("labelledby", title),
		callHead(&row.Item, H2(ID(title), callTitle(&row.Item))),
		If(row.Claim != "", P(Class("soft"), Text("Its server claims that "+row.Claim+"."))),
		Iff(row.Change != nil, func() Node {
			return Group{
				P(Class("warn"), Text("The tool "+row.Change.State()+": it is not the version that was approved. It is also "+
					"among the "), A(hrefTo("/changes"), Text("changes")), Text(".")),
				placeList(row.Change),
			}
		}),
		changedBefore(&row.Item),
		argumentList(&row.Item),
		decisionForms(v, row),
		If(row.Refusal != "", P(Class("warn"), Text("You cannot allow it: "+show.Escaped(row.Refusal)+"."))),
		approvalFacts(&row.Item),
		argumentsJSON(&row.Item),
		approvalLinks(v, &row.Item),
	)
}

// callTitle names a call.
func callTitle(i *approval.Item) Node {
	return Group{Strong(Text(show.Escaped(i.Tool))), Text(" of " + show.Escaped(i.Server))}
}

// callHead begins the card of a call that waits: the call, its caller, and the time that is left.
func callHead(i *approval.Item, title Node) Node {
	who := show.Escaped(describe.Caller(i.Principal))
	if i.Client != "" {
		who += " with " + show.Escaped(i.Client)
	}
	return Div(Class("head"), title,
		P(countdown(i), Span(Class("soft"), Text(" left"))),
		P(Class("soft"), Text("for "+who+", "), Span(Class("mono"), Text(i.ID))))
}

// countdown is the time that is left for the decision about a call.
func countdown(i *approval.Item) Node { return untilMark(i.Expires, describe.Left(i).String()) }

// untilMark is the time that is left until a time.
func untilMark(at time.Time, text string) Node {
	return Span(Class("until"), Data("until", at.UTC().Format(time.RFC3339)), Text(text))
}

// argumentList shows the arguments of a call for reading.
func argumentList(i *approval.Item) Node {
	all, out := readable.Arguments(i.Shown), Group{}
	for at := 0; at < len(all); {
		var facts Group
		for ; at < len(all) && all[at].Kind == readable.Short; at++ {
			facts = append(facts, Dt(Text(all[at].Name)), Dd(Text(all[at].Text)))
		}
		if facts != nil {
			out = append(out, Dl(Class("facts"), facts))
			continue
		}
		out = append(out, longArgumentText(i, &all[at]))
		at++
	}
	if len(all) == 0 && len(i.Shown) > len("{}") {
		out = Group{textBlock("Arguments of "+i.ID, escapedLines(show.IndentJSON(i.Shown)))}
	}
	return Group{
		out, If(len(i.Shown) <= len("{}"), emptyList("It has no arguments.")),
		If(i.Partial, P(Class("warn"), Text("The arguments are long: only a part is shown."))),
	}
}

func longArgumentText(i *approval.Item, a *readable.Argument) Node {
	class, lines := "text", Node(Text(a.Text))
	switch a.Kind {
	case readable.Command:
		class = "command"
	case readable.Diff:
		class, lines = "diff", diffLines(a.Text)
	}
	return Group{
		P(Class("label"), Text(a.Name)),
		Pre(Class(class), TabIndex("0"), Role("group"), Aria("label", a.Name+" of "+i.ID), lines),
	}
}

// diffLines marks the lines of a difference.
func diffLines(text string) Node {
	return Map(strings.Split(text, "\n"), func(line string) Node {
		element := Span
		switch {
		case strings.HasPrefix(line, "-"):
			element = Del
		case strings.HasPrefix(line, "+"):
			element = Ins
		}
		return element(Text(line))
	})
}

// argumentsJSON has the exact arguments.
func argumentsJSON(i *approval.Item) Node {
	return Details(ID("json-"+i.ID), Summary(Text("Arguments as JSON")),
		textBlock("Arguments of "+i.ID, escapedLines(show.IndentJSON(i.Shown))))
}

// changedBefore shows that the tool had changed when the call was made.
func changedBefore(i *approval.Item) Node {
	return If(i.Changed != "", Group{
		P(Class("warn"), Text("The tool has changed since it was accepted:")),
		textBlock("Changes of the tool of "+i.ID, escapedLines(i.Changed)),
	})
}

// decisionForms has the forms of the decisions that the visitor may take.
func decisionForms(v *visit, row *approvalRow) Node {
	if !row.MayAllow && !row.MayDeny {
		return nil
	}
	reason, form := "reason-"+row.ID, []string{"id", row.ID}
	return Div(Class("actions decision"),
		If(row.MayAllow, actionForm(v, "allow", form, allowButton(row.ID))),
		If(row.MayDeny, actionForm(v, "deny", form, Div(Class("together"),
			Label(For(reason), Text("Reason for the caller")),
			Input(ID(reason), Name("reason"), MaxLength("500"), AutoComplete("off")),
			denyButton(row.ID)))),
	)
}

// allowButton and denyButton are the buttons of the decision about a call, whose card has the title.
func allowButton(id string) Node {
	return Button(Class("main"), ID("allow-"+id), Aria("describedby", "approval-"+id), Text("Allow once"))
}

func denyButton(id string) Node {
	return Button(Class("danger"), ID("deny-"+id), Aria("describedby", "approval-"+id), Text("Deny"))
}

// approvalFacts has all about a call, as "indus approvals show" prints it.
func approvalFacts(i *approval.Item) Node {
	return Details(ID("facts-"+i.ID), Summary(Text("Facts")), Dl(Class("facts"),
		fact("Server", i.Server), fact("Tool", i.Tool), fact("Title", i.Title), fact("Does", i.Description),
		fact("Caller", describe.Caller(i.Principal)), fact("Client", describe.Client(i.Client)),
		fact("View", describe.View(i.View)), fact("Decides", describe.Deciders[i.Way]),
		If(i.Rule != "", Group{Dt(Text("Rule")), Dd(ruleLink(i.Rule))}),
		Dt(Text("Asked")), Dd(clock(i.Asked)), Dt(Text("Expires")), Dd(clock(i.Expires)),
		fact("Arguments", describe.ArgumentsSize(i))))
}

// approvalLinks leads to the requests of an approval: those of the last hours in Calls, and all of them in the audit.
func approvalLinks(v *visit, i *approval.Item) Node {
	return P(Class("actions"), A(hrefTo("/calls?q="+url.QueryEscape(i.ID)), Text("Calls")),
		If(v.site.AuditPath != "", A(hrefTo("/audit?approval="+url.QueryEscape(i.ID)), Text("Audit records"))))
}

func pastTable(v *visit, d *approvalsData) Node {
	rows := tableRows(d.Past, func(row *approvalRow) []Node {
		return []Node{
			Text(row.ID),
			Group{Text(string(row.State)), If(row.State == approval.Allowed, Group{Text(" until "), clock(row.Expires)})},
			Group{
				Text(callOf(&row.Item)),
				changedBefore(&row.Item), approvalFacts(&row.Item), argumentsJSON(&row.Item), approvalLinks(v, &row.Item),
			},
			Text(show.Escaped(describe.Caller(row.Principal))),
			Iff(!row.Decided.IsZero(), func() Node { return Text(show.Escaped(row.Verdict())) }),
		}
	})
	return Group{
		dataTable("No approval was decided or has expired in the last days.",
			"Decided, used and expired approvals, the newest first",
			[]string{"=ID", "State", "Call", "Caller", "Decision"}, rows),
		If(d.Older > 0, hintLine(Textf("%d older ones are in ", d.Older), Code(Text("indus approvals ls --all")), Text("."))),
	}
}

// fact is a label with a text, which is left out if it is empty. Invisible and control characters are shown as escapes.
func fact(label, text string) Node {
	return If(text != "", Group{Dt(Text(label)), Dd(Text(show.Escaped(text)))})
}
