package page

import (
	"strconv"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func signInsPage(v *visit, d *signInsData) Node {
	return Group{
		Div(ID("sign-ins-list"), liveOn("servers"),
			If(len(d.Servers) == 0, emptyList("No server needs a sign-in, and none is stored.")),
			Map(d.Servers, func(row signInServer) Node { return signInCard(v, &row) }),
			pageLinks(v, d.pagination)),
		hintLine(Text("Also: "), Code(Text("indus mcp login")), Text(" and "), Code(Text("indus mcp logout"))),
	}
}

func signInCard(v *visit, row *signInServer) Node {
	title, way := "server-"+row.Server, "All callers share the sign-in of the local user."
	switch {
	case row.Automatic:
		way = "indus signs in by itself, as the configuration has it."
	case row.PerCaller:
		way = "Each caller has a sign-in. The tools are listed with the sign-in of the local user, or of any caller."
	}
	as := "Sign in as the local user"
	if !v.visitor.isOperator() {
		as = "Sign in as " + show.Escaped(v.visitor.principal())
	}
	return Section(Class("card"), Aria("labelledby", title),
		H2(ID(title), Text(show.Escaped(row.Server))),
		If(row.Needed, P(Class("bad"), Text("The server is down until the sign-in is there."))),
		P(Text(way)),
		userTable(v, row),
		If(row.MaySignIn, actionForm(v, "sign-in", []string{"server", row.Server},
			Button(Class("main"), ID("sign-in-"+row.Server), Aria("describedby", title), Text(as)))),
	)
}

func userTable(v *visit, row *signInServer) Node {
	rows := tableRows(row.Users, func(u *signedUser) []Node {
		return []Node{
			Text(show.Escaped(describe.Caller(u.Principal))),
			Text(show.Escaped(u.Issuer)),
			Text(show.Escaped(strings.Join(u.Scopes, " "))),
			signInState(u),
			If(u.MayEnd, actionForm(v, "sign-out", []string{"server", row.Server, "principal", u.Principal},
				Button(Class("danger"), Data("ask", "Really sign out?"), Aria("describedby", "server-"+row.Server),
					Text("Sign out")))),
		}
	})
	return Group{
		dataTable("No sign-in is stored.", "Sign-ins to "+show.Escaped(row.Server),
			[]string{"=User", "Signed in at", "Scopes", "Good", "Action"}, rows),
		If(row.More > 0, hintLine(Text(strconv.Itoa(row.More)+" more callers are signed in: "),
			Code(Text("indus mcp ls --json")), Text(" has them."))),
	}
}

func signInState(u *signedUser) Node {
	if !u.Good {
		return Span(Class("bad"), Text(u.Text))
	}
	return Group{
		Span(Class("good"), Text(u.Text)),
		If(!u.Until.IsZero(), Span(Class("soft"), Text(" (token until "), clock(u.Until), Text(")"))),
	}
}

// signInPage shows the address of a sign-in, which belongs to the authorization server.
func signInPage(a *signInAddress) Node {
	return Group{
		P(Text("Sign in to " + show.Escaped(a.Server) + " at this address. It is for you alone, and good for ten minutes:")),
		P(A(Class("mono"), hrefTo(a.Address), Target("_blank"), Rel("noopener noreferrer"), Text(show.Escaped(a.Address)))),
		If(a.Local, P(Text("The browser has to be on the machine of indus. With another one, use "),
			Code(Text("indus mcp login "+show.ShellWord(show.Escaped(a.Server))+" --no-browser")), Text("."))),
		P(A(hrefTo("/sign-ins"), Text("Back to the sign-ins"))),
	}
}
