package page

import (
	"github.com/indusagi/indus/cmd/indus/internal/show"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func overviewPage(o *overview) Node {
	return Group{
		P(Text("Clients connect at "), Code(Text(show.Escaped(o.Address))), Text(": see "), A(hrefTo("/connect"), Text("how")),
			Text(".")),
		Ul(Class("tiles"), ID("overview-tiles"), liveOn("servers approvals tools calls policy"), Map(o.tiles(), tileLink)),
		hintLine(Text("Everything here is also a command: "), Code(Text("indus page SECTION")),
			Text(" prints a section as JSON, and "), Code(Text("indus help")), Text(" lists the others.")),
	}
}

func tileLink(t tile) Node {
	return Li(A(hrefTo("/"+t.section.path), Text(t.section.title+" "),
		Strong(Span(If(t.class != "", Class(t.class)), Text(t.count))), Text(" "),
		Span(Class("soft"), Text(t.text))))
}
