package page

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/audit"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func auditPage(v *visit, d *auditData) Node {
	also := hintLine(Text("Also: "), Code(Text("indus audit")), Text(" and "), Code(Text("indus audit verify")))
	switch {
	case !d.Recorded:
		return P(Text("Requests are not recorded: write "), Code(Text(`"audit": "audit.jsonl"`)),
			Text(" into the configuration."))
	case d.Verification != nil:
		return Group{verificationCard(d.Verification), P(A(hrefTo("/audit"), Text("Back to the records"))), also}
	}
	return Group{
		auditSearch(&d.form),
		Div(ID("audit-records"), liveIf(d.live, "audit"), recordTable(v, d),
			If(d.Stopped, P(Class("warn"), Role("status"),
				Text("The search has ended before all records were read. It can go on where it stopped."))),
			If(d.Next > 0, P(olderLink(v, d))),
			If(d.Damaged > 0, P(Class("bad"), Text(show.Count(d.Damaged, "line")+" cannot be read."))),
		),
		Form(Method("post"), actionTo("/audit/verify"), Button(Text("Check that no record was altered"))),
		also,
	}
}

func olderLink(v *visit, d *auditData) Node {
	text := "Older records"
	if d.Stopped {
		text = "Search on in older records"
	}
	return A(Rel("next"), hrefTo(v.withQuery("before", strconv.FormatUint(d.Next, 10))), Text(text))
}

func verificationCard(d *describe.Verification) Node {
	result := P(Class("good"), Text("Every record is as it was written."))
	if !d.Whole {
		result = P(Class("bad"), Text("Some records are not as they were written."))
	}
	return resultCard(Aria("label", "Result of the check"), result, textBlock("Report", reportText(d)))
}

func auditSearch(f *auditForm) Node {
	isDetailed := cmp.Or(f.Since, f.Until, f.Text, f.Client, f.View, f.Approval, f.Trace) != ""
	return Form(Method("get"), actionTo("/audit"), Class("inline"), Role("search"), Aria("label", "Records"),
		textField("principal", "Caller", f.Principal, "user:alice"),
		textField("server", "Server", f.Server, "github"),
		textField("tool", "Tool or URI", f.Tool, "create_issue"),
		choiceField("outcome", "Outcome", f.Outcome, outcomeChoices("any"), false),
		Button(Class("main"), Text("Search")),
		Details(ID("more-fields"), If(isDetailed, Attr("open")),
			Summary(Text("Time, text and other fields")), Div(Class("inline"),
				textField("since", "Since", f.Since, "2h, 2026-07-28 15:04"),
				textField("until", "Until", f.Until, "30m"),
				textField("text", "Text", f.Text, "in the record"),
				textField("client", "Client", f.Client, "claude-code"),
				textField("view", "View", f.View, "@review, or *"),
				textField("approval", "Approval", f.Approval, "7K2F"),
				textField("trace", "Trace", f.Trace, ""),
				A(hrefTo("/audit"), Text("All records")))),
	)
}

func recordTable(v *visit, d *auditData) Node {
	var rows [][]Node
	for i := range d.rows {
		rows = append(rows, recordRow(v, d, &d.rows[i], d.Records[i]))
	}
	return dataTable("No record matches.", "Records, the newest first",
		[]string{"Time", "Outcome", "Caller", "Request", "#Duration", "Details"}, rows)
}

func recordRow(v *visit, d *auditData, r *audit.Record, line json.RawMessage) []Node {
	number := strconv.FormatUint(r.Seq, 10)
	values := func(label string, value json.RawMessage) Node {
		return Iff(len(value) > 0, func() Node { return Group{P(Text(label + ":")), textBlock(label, recordText(value))} })
	}
	return []Node{
		clock(r.At),
		Group{outcomeMark(r.Outcome), approvalLink(r.Outcome, show.Escaped(r.Approval)),
			If(r.Approver != "", Text(" of "+show.Escaped(r.Approver))),
			If(r.Outcome == audit.Denied, ruleLinks(firstOf(r.Policies)))},
		Text(show.Escaped(r.Principal)),
		Text(show.Escaped(describe.Request(r))),
		If(r.Duration > 0, Text(describe.Duration(r.Duration))),
		Group{
			Text(detailText(r)),
			Details(ID("record-"+number), If(d.form.Record != "", Attr("open")), Summary(Text("Record "+number)),
				recordLinks(v, d, r), textBlock("All members", recordText(line)), values("Arguments", r.Arguments),
				values("Result", r.Result)),
		},
	}
}

// recordLinks leads to the same request elsewhere: its address here, its trace, and its row in Calls if it is there.
func recordLinks(v *visit, d *auditData, r *audit.Record) Node {
	if r.ID == "" {
		return nil
	}
	all := Group{A(hrefTo("/audit?record="+url.QueryEscape(r.ID)), Text("This record alone"))}
	if trace := traceLink(v, r.Trace); trace != nil {
		all = append(all, Text(" "), trace)
	}
	if d.recent[r.ID] {
		all = append(all, Text(" "), A(hrefTo("/calls?q="+url.QueryEscape(r.ID)), Text("in Calls")))
	}
	return P(all)
}

func outcomeMark(o audit.Outcome) Node {
	return Span(Class(outcomeClass(o)), Text(show.Escaped(string(o))))
}
