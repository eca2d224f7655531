package page

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/audit"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func callsPage(v *visit, l callList) Node {
	caption := fmt.Sprintf("%d of the last %d requests", len(l.Recent), l.Kept)
	return Group{
		searchForm("calls",
			searchField("Caller, client, tool or server", l.Filter),
			choiceField("outcome", "Outcome", l.Outcome, outcomeChoices("all"), true),
			Button(Text("Filter")),
		),
		Div(ID("calls-live"), liveOn("calls"),
			H2(Text("In flight")),
			callTable(v, l.InFlight, "No request is in flight.",
				fmt.Sprintf("%d of %d requests in flight", len(l.InFlight), l.Now), true),
			H2(Text("Recent")),
			callTable(v, l.Recent, "No request matches.", caption, false),
		),
		hintLine(Text("Also: "), Code(Text("indus page calls")), Text(", and for earlier ones "), Code(Text("indus audit"))),
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

// callOutcome shows how a request has ended, with links to its approval, its record and its trace.
func callOutcome(v *visit, row *callRow) Node {
	reason := row.Reason
	if row.Outcome == audit.Deferred && row.Approval != "" {
		reason = "" // the text for the caller, who has no page
	}
	return Group{
		outcomeMark(row.Outcome), approvalLink(row.Outcome, row.Approval), ruleLinks(row.Rules),
		If(reason != "", Group{Br(), Span(Class("soft"), Text(reason))}),
		If(row.Record != "" || row.Trace != "", Group{Br(), Span(Class("soft"),
			If(row.Record != "" && v.site.AuditPath != "", Group{recordLink(row.Record), Text(" ")}),
			traceLink(v, row.Trace))}),
	}
}

// approvalLink leads to the approval that a request waits for, or has spent.
func approvalLink(o audit.Outcome, id string) Node {
	if id == "" {
		return nil
	}
	text := " by approval "
	if o == audit.Deferred {
		text = ", waits: "
	}
	return Group{Text(text), A(hrefTo("/approvals?id="+url.QueryEscape(id)), Text(id))}
}

func recordLink(id string) Node {
	return A(hrefTo("/audit?record="+url.QueryEscape(id)), Text("record"))
}

// traceLink leads to the records of a trace. Its title has the whole id.
func traceLink(v *visit, id string) Node {
	if id == "" || v.site.AuditPath == "" {
		return nil
	}
	return A(hrefTo("/audit?trace="+url.QueryEscape(id)), TitleAttr("trace "+show.Escaped(id)), Text("trace"))
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
			A(hrefTo("/approvals?id="+url.QueryEscape(row.Approval)), Text("approval "+row.Approval)))),
		action,
	}
}
