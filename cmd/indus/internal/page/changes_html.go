package page

import (
	"net/url"
	"strconv"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func changesPage(v *visit, d *changesData) Node {
	list := Group{}
	for server, rows := range show.GroupBy(d.Tools, func(o changedRow) string { return o.Server }) {
		list = append(list, H2(Text(show.Escaped(server))),
			Map(rows, func(row changedRow) Node { return changedCard(v, d, &row) }),
			If(d.Stored && len(rows) > 1, acceptAll(v, server, rows)))
	}
	return Group{
		P(Text("A change may be an attack: read the changed text. "), Del(Text("Removed text")), Text(" is struck out, and "),
			Ins(Text("added text")), Text(" is underlined. Characters that cannot be seen are written as "),
			Code(Text(`\u{…}`)), Text(".")),
		P(ID("changes-count"), Role("status"), liveOn("tools servers"), Text(counted(d.Total,
			"Every tool is as it was approved.", "tool is new or has changed since its server was approved.",
			"tools are new or have changed since their servers were approved."))),
		If(!d.Stored, P(Class("warn"), Text("No ledger is kept, so that nothing can be accepted or refused."))),
		Div(ID("changes-list"), liveOn("tools servers"), list, pageLinks(v, d.pagination),
			If(len(d.Refused) > 0, Details(ID("refused"), Summary(Text(show.Count(len(d.Refused), "refused tool"))),
				Map(d.Refused, func(row changedRow) Node { return changedCard(v, d, &row) })))),
		hintLine(Text("Also: "), Code(Text("indus mcp accept")), Text(" and "), Code(Text("indus mcp log")),
			Text(", which shows the history.")),
	}
}

// acceptAll is the form that accepts all shown tools of a server.
func acceptAll(v *visit, server string, rows []changedRow) Node {
	var hidden []string
	for _, row := range rows {
		hidden = append(hidden, "tool", row.Version)
	}
	return actionForm(v, "accept", hidden, Button(ID("accept-all-"+server), Data("ask", "Accept all of them?"),
		Textf("Accept all %d above of %s", len(rows), show.Escaped(server))))
}

// changedCard is a tool with its changes, word by word.
func changedCard(v *visit, d *changesData, row *changedRow) Node {
	title := "tool-" + row.Sum
	state := "It " + row.State() + "."
	if row.Denied {
		state += " For as long as this indus serve runs, it stays held back."
	}
	return Article(Class("card"), Aria("labelledby", title),
		H3(ID(title), Text(show.Escaped(row.Name))),
		P(Text(state)),
		P(Class("soft"), Text("Version "), Code(Text(show.Escaped(row.Version)))),
		changedPlaces(row),
		If(d.Stored, Div(Class("actions"),
			actionForm(v, "accept", []string{"tool", row.Version}, Button(ID("accept-"+row.Sum),
				Data("ask", "Accept this version?"), Aria("describedby", title), Text("Accept"))),
			If(row.Held && row.Refused == "", actionForm(v, "refuse", []string{"tool", row.Version}, Button(Class("danger"),
				ID("refuse-"+row.Sum), Aria("describedby", title), Text("Refuse")))),
			If(!row.Held, Group{
				A(hrefTo("/try?tool="+url.QueryEscape(row.Name)), Aria("describedby", title), Text("Try it")),
				Span(Class("soft"), Text("It is live: to hold back such tools, write "), Code(Text(`"changes": "hold"`)),
					Text(" into the configuration.")),
			}),
		)),
	)
}

func changedPlaces(row *changedRow) Node {
	if len(row.Fields) == 0 {
		return P(Text("Changed: " + describe.ChangedPlaces(row.Fields) + "."))
	}
	return placeList(row)
}

func placeList(row *changedRow) Node {
	places, more := shownPlaces(row)
	return Group{
		Dl(Class("facts"), Map(places, changedPlace)),
		If(more > 0, P(Class("warn"), Text(strconv.Itoa(more)+" more places have changed: "),
			Code(Text("indus mcp accept")), Text(" shows them all."))),
	}
}

func changedPlace(place ledger.Field) Node {
	return Group{Dt(Text(describe.PlaceName(place.Path))), Dd(changedText(place))}
}

// changedText is the change of one place, word by word.
func changedText(place ledger.Field) Node {
	var pieces Group
	for _, piece := range describe.Pieces(place) {
		element := Span
		switch piece.Op {
		case "-":
			element = Del
		case "+":
			element = Ins
		}
		pieces = append(pieces, element(Text(piece.Text)))
	}
	return pieces
}
