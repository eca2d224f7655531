package page

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

// pageHead is the head of every page.
func pageHead(title string) Node {
	return Group{
		Meta(Charset("utf-8")),
		Meta(Name("viewport"), Content("width=device-width, initial-scale=1")),
		Meta(Name("color-scheme"), Content("light dark")),
		Meta(Name("robots"), Content("noindex")),
		TitleEl(Text(title + " – indus")),
		Link(Rel("stylesheet"), hrefTo(static("page.css"))),
		Link(Rel("icon"), hrefTo(emptyIcon)),
		Script(srcOf(static("page.js")), Defer()),
	}
}

// layout is the page around the content of a section.
func layout(v *visit, body Node) Node {
	n := v.site.counts(v.Context())
	return Doctype(HTML(Lang("en"),
		Head(pageHead(titleOf(v.section, n))),
		Body(If(v.Method == http.MethodPost, Data("address", "/"+v.section.path)), // the answer of an action has no other
			A(Class("skip"), hrefTo("#main"), Text("Skip to the content")),
			Header(
				A(Class("brand"), hrefTo("/"), Text("indus")),
				Nav(ID("sections"), Aria("label", "Sections"), liveOn("servers approvals tools policy"),
					Ul(Class("bar"), Data("waits", strings.Join(n.waits, " ")),
						Map(sections, func(one *section) Node { return sectionLink(v, one, n) })),
					Details(Class("menu"), ID("menu"), Summary(menuTitle(n)),
						Ul(Map(sections, func(one *section) Node { return sectionLink(v, one, n) })))),
				If(v.visitor.session != nil, Form(Method("post"), actionTo("/sign-out"),
					Button(Class("plain"), Text("Sign out")))),
			),
			Main(ID("main"), TabIndex("-1"),
				H1(Text(v.section.title)),
				Div(ID("notice"), TabIndex("-1"), Role("status"), If(v.done != "", P(Class("notice"), Text(show.Escaped(v.done))))),
				Div(ID("problem"), TabIndex("-1"), Role("alert"),
					If(v.failed != "", P(Class("problem"), Text(show.Escaped(v.failed))))),
				body,
			),
			Footer(P(ID("connection"), Role("status")),
				Button(ID("notify"), Type("button"), Class("plain"), Attr("hidden"))),
		),
	))
}

// titleOf returns the title of the document, with the number of calls and tools that wait.
func titleOf(s *section, n counts) string {
	if waiting := n.calls + n.tools; waiting > 0 {
		return fmt.Sprintf("(%d) %s", waiting, s.title)
	}
	return s.title
}

// sectionLink leads to a section, and counts there what waits for a person.
func sectionLink(v *visit, one *section, n counts) Node {
	return Li(A(hrefTo("/"+one.path), If(one == v.section, Aria("current", "page")), Text(one.title),
		countMark(one, n.of(one))))
}

func countMark(s *section, n int) Node {
	class := "count"
	if s != &approvalsSection && s != &changesSection {
		class = "count fault"
	}
	return If(n > 0, Group{Text(" "), Span(Class(class), Textf("%d", n))})
}

// menuTitle is the closed menu of a narrow screen: the numbers of all that waits.
func menuTitle(n counts) Node {
	return Group{
		Text("Menu"), countMark(&approvalsSection, n.calls+n.tools), countMark(&serversSection, n.servers+n.signIns+n.policy),
	}
}

// plainPage is a page without sections. With enters, the browser goes on to "/" by itself.
func plainPage(title string, enters bool, inside ...Node) Node {
	return Doctype(HTML(Lang("en"),
		Head(If(enters, Meta(Attr("http-equiv", "refresh"), Content("0; url=/"))), pageHead(title)),
		Body(Class("plain"), Main(ID("main"), H1(Text(title)), Group(inside))),
	))
}

// entered goes on to the page by itself.
func entered() Node {
	return plainPage("Welcome", true, P(A(hrefTo("/"), Text("Open the page"))))
}

// noAccess is the page for everybody who has no access.
func noAccess(reason string, canSignIn bool) Node {
	return plainPage("No access", false,
		P(Text(reason+".")),
		P(Text("If you run indus on this machine, type "), Code(Text("indus page")), Text(".")),
		If(canSignIn, P(Text("Administrators can "), A(hrefTo("/sign-in"), Text("sign in")), Text("."))),
	)
}

// signInForm asks an administrator for a token.
func signInForm(failed string) Node {
	return plainPage("Sign in", false,
		If(failed != "", P(Class("problem"), Role("alert"), Text(failed+"."))),
		Form(Method("post"), actionTo("/sign-in"), Class("stack"),
			Label(For("token"), Text("API key or token")),
			Input(ID("token"), Name("token"), Type("password"), AutoComplete("current-password"), Required()),
			Button(Text("Sign in")),
		),
	)
}

// actionForm is the form of an action of the section. hidden has names and values of fields. After the action, the
// visitor sees the section with the same query.
func actionForm(v *visit, action string, hidden []string, inside ...Node) Node {
	return sectionForm(v.section, action, append(hidden, "return", v.URL.RawQuery), inside...)
}

// sectionForm is the form of an action of a section.
func sectionForm(s *section, action string, hidden []string, inside ...Node) Node {
	form := Group{Method("post"), actionTo("/" + s.path + "/" + action)}
	for field := range slices.Chunk(hidden, 2) {
		form = append(form, hiddenField(field[0], field[1]))
	}
	return Form(form, Group(inside))
}

func hiddenField(name, value string) Node { return Input(Type("hidden"), Name(name), Value(value)) }

// resultCard is the result of an action. After the action it has the focus.
func resultCard(inside ...Node) Node {
	return Section(Class("card"), ID("result"), TabIndex("-1"), Group(inside))
}

// hintLine is a paragraph of less importance.
func hintLine(inside ...Node) Node { return P(Class("hint"), Group(inside)) }

// emptyList says that a list has no entry.
func emptyList(text string) Node { return P(Class("empty"), Text(text)) }

// clock is a time of the system's zone, without the date if it is today. Its title has the date and the zone.
func clock(t time.Time) Node {
	return Time(DateTime(t.Format(time.RFC3339)), TitleAttr(t.Local().Format(show.TimeFormat+" -07:00")),
		Text(clockText(t, time.Now())))
}

// textBlock is a text of several lines. label names it for screen readers.
func textBlock(label, text string) Node {
	return Pre(TabIndex("0"), If(label != "", Group{Role("group"), Aria("label", label)}), Text(text))
}

// dataTable is a table. Each row has the contents of its cells. The title of a column of numbers begins with #, and
// the title of the column that names the row with =. Without rows, it is only the text empty. On a narrow screen each
// row is a card, whose cells have the titles of their columns: an empty cell is left out there.
func dataTable(empty, caption string, columns []string, rows [][]Node) Node {
	if len(rows) == 0 {
		return emptyList(empty)
	}
	body := Group{}
	for _, cells := range rows {
		row := Group{}
		for i, inside := range cells {
			row = append(row, tableCell(columns[i], inside))
		}
		body = append(body, Tr(Role("row"), row))
	}
	return Div(Class("wide"), TabIndex("0"), Role("region"), Aria("label", caption), Table(Role("table"),
		Caption(Text(caption)),
		THead(Role("rowgroup"), Tr(Role("row"), Map(columns, columnHead))),
		TBody(Role("rowgroup"), body),
	))
}

func columnHead(column string) Node {
	return Th(Scope("col"), Role("columnheader"), If(column[0] == '#', Class("number")),
		Text(strings.TrimLeft(column, "#=")))
}

func tableCell(column string, inside Node) Node {
	switch column[0] {
	case '=':
		return Th(Scope("row"), Role("rowheader"), inside)
	case '#':
		return Td(Role("cell"), Class("number"), Data("label", column[1:]), Div(inside))
	}
	return Td(Role("cell"), Data("label", column), Div(inside))
}

// tableRows returns the rows of a table: the cells of each entry.
func tableRows[T any](all []T, cells func(*T) []Node) (rows [][]Node) {
	for i := range all {
		rows = append(rows, cells(&all[i]))
	}
	return rows
}

func textField(name, label, value, example string) Node {
	return Div(
		Label(For(name), Text(label)),
		Input(ID(name), Name(name), Value(value), Placeholder(example), AutoComplete("off")),
	)
}

// searchField is the field of the query "q".
func searchField(label, value string) Node {
	return Div(Label(For("q"), Text(label)), Input(ID("q"), Name("q"), Type("search"), Value(value)))
}

// searchForm is a form that selects what a section shows.
func searchForm(path string, inside ...Node) Node {
	return Form(Method("get"), actionTo("/"+path), Class("inline"), Role("search"), Group(inside))
}

// choiceField is a list of choices. With submits, a choice sends the form.
func choiceField(name, label, value string, all []choice, submits bool) Node {
	return Div(
		Label(For(name), Text(label)),
		Select(ID(name), Name(name), If(submits, Attr("data-submit")), choiceOptions(value, all)),
	)
}

func choiceOptions(value string, all []choice) Node {
	return Map(offered(all, value), func(one choice) Node {
		return Option(Value(one.value), If(one.value == value, Selected()), Text(one.text))
	})
}

// liveOn returns the attribute of a part of the page that is fetched again after events of its topics.
func liveOn(topics string) Node { return Data("live", topics) }

// pageLinks leads to the other pages of a long list.
func pageLinks(v *visit, p pagination) Node {
	if p.Pages <= 1 {
		return nil
	}
	to := func(page int) Node { return hrefTo(v.withQuery("page", fmt.Sprint(page))) }
	return Nav(Class("actions"), Aria("label", "Pages"),
		If(p.Page > 1, A(to(p.Page-1), Rel("prev"), Text("Previous"))),
		Span(Textf("Page %d of %d", p.Page, p.Pages)),
		If(p.Page < p.Pages, A(to(p.Page+1), Rel("next"), Text("Next"))),
	)
}

// offeredHint is shown below a list of choices that does not have all of them.
func offeredHint(total int) Node {
	return If(total > maxOffered,
		hintLine(Textf("The first %d of %d are listed. The command takes all of them.", maxOffered, total)))
}

// linkSchemes are the schemes of links to other programs: web pages, and the clients of [connect.Ways].
var linkSchemes = []string{"http", "https", "vscode", "cursor", "lmstudio"}

// emptyIcon is the icon of the page, so that a browser does not ask for one.
const emptyIcon = "data:,"

// hrefTo, actionTo and srcOf are the only attributes with addresses.
func hrefTo(address string) Node   { return Href(checkedAddress(address)) }
func actionTo(address string) Node { return Action(checkedAddress(address)) }
func srcOf(address string) Node    { return Src(checkedAddress(address)) }

// checkedAddress returns an address, or an address that leads nowhere if a browser could run the address as a script.
func checkedAddress(address string) string {
	isOwn := strings.HasPrefix(address, "#") || strings.HasPrefix(address, "/") &&
		!strings.HasPrefix(address, "//") && !strings.HasPrefix(address, `/\`)
	u, err := url.Parse(address)
	if err == nil && (isOwn || slices.Contains(linkSchemes, u.Scheme)) {
		return address
	}
	isImage := func(mime string) bool { return strings.HasPrefix(address, "data:"+mime+";base64,") }
	if address == emptyIcon || slices.ContainsFunc(imageTypes, isImage) {
		return address
	}
	return "about:invalid"
}
