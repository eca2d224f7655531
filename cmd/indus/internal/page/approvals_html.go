package page

import (
	"time"

	"github.com/indusagi/indus/approval"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func approvalsPage(v *visit, d *approvalsData) Node {
	waiting := Node(emptyList("No call waits for approval."))
	if len(d.Waiting) > 0 {
		waiting = Map(d.Waiting, func(row approvalRow) Node { return waitingCard(v, &row) })
	}
	return Group{
		hintLine(Text("Also: "), Code(Text("indus approvals")), Text(", and "), Code(Text("indus approvals watch")),
			Text(" on a terminal.")),
		P(ID("approvals-count"), Role("status"), liveOn("approvals"), Text(counted(d.Total, "No call waits for approval.",
			"call waits for approval.", "calls wait for approval."))),
		Div(ID("approvals-waiting"), liveOn("approvals"), H2(Text("Waiting")), waiting, pageLinks(v, d.pagination)),
		Div(ID("approvals-past"), liveOn("approvals"), H2(Text("Past")), pastTable(d)),
	}
}

// waitingCard is a call that waits, with the forms of the decision.
func waitingCard(v *visit, row *approvalRow) Node {
	title := "approval-" + row.ID
	return Article(Class("card"), Aria("labelledby", title),
		H3(ID(title), Text(row.ID+": "+callOf(&row.Item))),
		P(Text("Waits until "), clock(row.Expires), Text(", for another "), countdown(&row.Item), Text(".")),
		approvalFacts(&row.Item),
		Iff(row.Change != nil, func() Node {
			return Group{
				P(Class("warn"), Text("The tool "+row.Change.State()+": it is not the version that was approved. It is also "+
					"among the "), A(hrefTo("/changes"), Text("changes")), Text(".")),
				placeList(row.Change),
			}
		}),
		decisionForms(v, row),
		If(row.Refusal != "", P(Class("warn"), Text("You cannot allow it: "+show.Escaped(row.Refusal)+"."))),
	)
}

// countdown is the time that is left for the decision about a call.
func countdown(i *approval.Item) Node {
	return Span(Data("until", i.Expires.UTC().Format(time.RFC3339)), Text(describe.Left(i).String()))
}

// decisionForms has the forms of the decisions that the visitor may take.
func decisionForms(v *visit, row *approvalRow) Node {
	if !row.MayAllow && !row.MayDeny {
		return nil
	}
	title, reason, form := "approval-"+row.ID, "reason-"+row.ID, []string{"id", row.ID}
	return Div(Class("actions"),
		If(row.MayAllow, actionForm(v, "allow", form,
			Button(Class("main"), ID("allow-"+row.ID), Aria("describedby", title), Text("Allow once")))),
		If(row.MayDeny, actionForm(v, "deny", form, Div(Class("inline"),
			Label(For(reason), Text("Reason, which the caller gets")),
			Input(ID(reason), Name("reason"), MaxLength("500"), AutoComplete("off")),
			Button(Class("danger"), ID("deny-"+row.ID), Aria("describedby", title), Text("Deny"))))),
	)
}

// approvalFacts has all about a call, as "indus approvals show" prints it.
func approvalFacts(i *approval.Item) Node {
	return Group{
		Dl(Class("facts"),
			fact("Server", i.Server), fact("Tool", i.Tool), fact("Title", i.Title), fact("Does", i.Description),
			fact("Caller", describe.Caller(i.Principal)), fact("Client", describe.Client(i.Client)),
			fact("View", describe.View(i.View)), fact("Decides", describe.Deciders[i.Way]), fact("Rule", i.Rule),
			Dt(Text("Asked")), Dd(clock(i.Asked)), fact("Arguments", describe.ArgumentsSize(i))),
		textBlock("Arguments of "+i.ID, escapedLines(show.IndentJSON(i.Shown))),
		If(i.Changed != "", Group{
			P(Class("warn"), Text("The tool has changed since it was accepted:")),
			textBlock("Changes of the tool of "+i.ID, escapedLines(i.Changed)),
		}),
	}
}

func pastTable(d *approvalsData) Node {
	rows := tableRows(d.Past, func(row *approvalRow) []Node {
		return []Node{
			Text(row.ID),
			Group{Text(string(row.State)), If(row.State == approval.Allowed, Group{Text(" until "), clock(row.Expires)})},
			Group{
				Text(callOf(&row.Item)),
				Details(ID("past-"+row.ID), Summary(Text("Details of "+row.ID)), approvalFacts(&row.Item)),
			},
			Text(show.Escaped(describe.Caller(row.Principal))),
			Iff(!row.Decided.IsZero(), func() Node { return Text(show.Escaped(row.Verdict())) }),
		}
	})
	return Group{
		dataTable("No approval was decided or has expired in the last days.",
			"Decided, used and expired approvals, the newest first", []string{"=ID", "State", "Call", "Caller", "Decision"}, rows),
		If(d.Older > 0, hintLine(Textf("%d older ones are in ", d.Older), Code(Text("indus approvals ls --all")), Text("."))),
	}
}

// fact is a label with a text, which is left out if it is empty. Invisible and control characters are shown as escapes.
func fact(label, text string) Node {
	return If(text != "", Group{Dt(Text(label)), Dd(Text(show.Escaped(text)))})
}
