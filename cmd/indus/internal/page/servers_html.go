package page

import (
	"fmt"
	"net/url"
	"strconv"

	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func serversPage(v *visit, l serverList) Node {
	return Group{
		searchForm("servers", searchField("Name, state or command", l.Filter), Button(Text("Filter"))),
		Div(ID("servers-live"), liveOn("servers calls"), dataTable("No server matches.",
			fmt.Sprintf("%d of %d servers", len(l.Servers), l.Total),
			[]string{"=Server", "State", "#Tools", "#Calls now", "Last calls", "#Restarts", "Actions"},
			tableRows(l.Servers, func(row *serverRow) []Node { return serverCells(v, row) }))),
		hintLine(Text("Also: "), Code(Text("indus page servers")), Text(", "), Code(Text("indus mcp ls")), Text(", "),
			Code(Text("indus mcp enable")), Text(" and "), Code(Text("disable")), Text(", "), Code(Text("indus mcp doctor"))),
	}
}

func serverCells(v *visit, row *serverRow) []Node {
	return []Node{
		Group{Text(row.ID), Details(ID("server-"+row.ID), Summary(Text("Details")),
			P(Class("mono"), Text(row.Kind+" "+row.Target)),
			P(Class("soft"), Text(row.Place)),
			If(row.Version != "", P(Text("MCP "+row.Version+", connected in "+formatMS(row.TookMS)))),
			If(row.Stderr != "", Group{P(Text("Last lines on stderr:")), textBlock("", row.Stderr)}),
		)},
		Group{Span(Class(phaseClass(*row)), Text(phaseText(*row))),
			If(row.Era != "", Span(Class("soft"), Text(" "+row.Era))),
			If(row.Reason != "", P(Text(row.Reason))),
			If(row.Fault != "", Group{nextAttempt(row.Retry), P(Class("bad"), Text(shortFault(row))), P(Text(row.Advice))}),
			If(row.needsSignIn, P(A(hrefTo("/sign-ins#server-"+url.PathEscape(row.ID)), Text("Sign in")))),
		},
		someText(row.Tools),
		Group{If(row.InFlight > 0 || row.Phase != "" && row.Fault == "", Text(strconv.Itoa(row.InFlight))),
			If(row.Waiting > 0, Span(Class("warn"), Textf(" +%d waiting", row.Waiting)))},
		sparkline(row.LastMS),
		someText(row.Restarts),
		Div(Class("actions"), serverActions(v, row)),
	}
}

func serverActions(v *visit, row *serverRow) Node {
	switch {
	case row.Phase != "":
		return Group{
			serverButton(v, "restart", row.ID, "Restart", ""), serverButton(v, "disable", row.ID, "Switch off", "Really?"),
		}
	case row.State == "disabled":
		return serverButton(v, "enable", row.ID, "Switch on", "")
	}
	return nil
}

// someText is a number, which is left out if it is 0.
func someText(n int) Node { return If(n > 0, Text(strconv.Itoa(n))) }

// sparkline draws how long calls took.
func sparkline(ms []float64) Node {
	if len(ms) == 0 {
		return nil
	}
	about := sparkText(ms)
	return Group{
		If(len(ms) > 1, SVG(Class("spark"), Attr("viewBox", "0 0 120 24"), Attr("preserveAspectRatio", "none"), Role("img"),
			Aria("label", about), El("polyline", Class("stroke"), Attr("points", sparkPoints(ms))))),
		Span(Class("soft"), Text(about)),
	}
}

// serverButton is the form of an action on a server. With ask, the button needs a second click.
func serverButton(v *visit, action, server, text, ask string) Node {
	return actionForm(v, action, []string{"server", server}, Button(ID(action+"-"+server),
		Aria("label", text+" "+server), If(ask != "", Group{Data("ask", ask), Class("danger")}), Text(text)))
}
