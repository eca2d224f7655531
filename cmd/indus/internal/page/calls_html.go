package page

import (
	"fmt"
	"strconv"

	"github.com/indusagi/indus/audit"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func callsPage(v *visit, l callList) Node {
	caption := fmt.Sprintf("%d of the last %d requests", len(l.Recent), l.Kept)
	return Group{
		hintLine(Text("Also: "), Code(Text("indus page calls")), Text(", and for earlier ones "), Code(Text("indus audit"))),
		searchForm("calls",
			searchField("Caller, client, tool or server", l.Filter),
			choiceField("outcome", "Outcome", l.Outcome, outcomeChoices("all"), true),
			Button(Text("Filter")),
		),
		Div(ID("calls-live"), liveOn("calls"),
			H2(Text("In flight")),
			callTable(v, l.InFlight, "No request is in flight.", "Requests in flight", true),
			H2(Text("Recent")),
			callTable(v, l.Recent, "No request matches.", caption, false),
		),
	}
}

// callTable lists requests, which are in flight or ended.
func callTable(v *visit, all []callRow, empty, caption string, inFlight bool) Node {
	return dataTable(empty, caption, callColumns(inFlight), tableRows(all, func(row *callRow) []Node {
		last := callOutcome
		if inFlight {
			last = callActions
		}
		cells := []Node{
			clock(row.At),
			Group{Text(row.Caller), Br(), Span(Class("soft"), Text(row.Client))},
			Group{
				If(row.Server != "", Text(row.Server+" ")), Strong(Text(row.Name)), Br(),
				Span(Class("soft"), Text(row.Method+", "+row.Era), If(row.View != "", Text(", view "+row.View))),
			},
			Text(formatMS(row.DurationMS)),
			Text(formatBytes(row.BytesIn) + ", " + formatBytes(row.BytesOut)),
		}
		if !inFlight {
			cells = append(cells, Text(tokenCount(*row)))
		}
		return append(cells, last(v, row))
	}))
}

// callOutcome shows how a request has ended.
func callOutcome(_ *visit, row *callRow) Node {
	return Group{
		outcomeMark(row.Outcome), If(row.Reason != "", Group{Br(), Span(Class("soft"), Text(row.Reason))}),
	}
}

// callActions has the actions on a request in flight.
func callActions(v *visit, row *callRow) Node {
	id := strconv.FormatUint(row.ID, 10)
	action := actionForm(v, "cancel", []string{"id", id},
		Button(ID("cancel-"+id), Aria("label", "Cancel "+row.Name), Text("Cancel")))
	if row.further {
		action = Span(Class("soft"), Text("in the same request as the call above"))
	}
	return Group{
		If(row.Outcome == audit.Deferred, P(Class("warn"), Text("waits for "),
			A(hrefTo("/approvals"), Text("approval "+row.Approval)))),
		action,
	}
}
