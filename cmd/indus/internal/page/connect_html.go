package page

import (
	"net/url"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/connect"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func connectShown(p *connectPage) Node {
	clients := connectClients(p)
	if p.Client != "" {
		clients = Map(p.Clients, func(w connect.Way) Node { return connectWay(p, &w) })
	}
	return Group{
		Form(Method("get"), actionTo("/connect"), Class("inline"),
			choiceField("client", "Client", p.Client, clientChoices(), true),
			choiceField("view", "View", p.View, p.viewChoices("all servers"), true),
			Button(Text("Show")),
		),
		offeredHint(len(p.Views)),
		If(p.Keys, P(A(hrefTo("#create-key"), Text("Create a key")))),
		Iff(p.Key != nil, func() Node { return connectCreated(p.Key) }),
		clients,
		hintLine(Text("Also: "), Code(Text(visibleLines(p.command()))), Text(", which writes the client's file for you.")),
		If(p.Keys, connectKey(p)),
	}
}

// connectClients lists the clients.
func connectClients(p *connectPage) Node {
	rows := tableRows(p.Clients, func(one *connect.Way) []Node {
		return []Node{
			A(hrefTo("/connect?client="+one.Client+"&view="+url.QueryEscape(p.View)), Text(one.Title)),
			Text(strings.Join(waysOf(one), ", ")),
			If(one.File != "", Span(Class("mono"), Text(one.File))),
		}
	})
	return dataTable("", "Clients that indus knows", []string{"=Client", "Ways", "File"}, rows)
}

// connectWay shows the ways to connect one client.
func connectWay(p *connectPage, w *connect.Way) Node {
	return Group{
		H2(Text(w.Title)),
		If(p.TokenVariable != "", P(Text("The client needs a token. It finds it in the environment variable "),
			Code(Text(p.TokenVariable)), Text(", unless you create a key below."))),
		If(w.Link != "", P(A(hrefTo(w.Link), Rel("noreferrer"), Text("Open "+w.Title+" and add it there")))),
		If(w.Line != "", Group{H3(Text("Command line")), copiedText("connect-line", w.Line, "Copy the command line")}),
		If(w.Text != "", Group{
			H3(Text("File")),
			If(w.File != "", P(Text("Yours: "), Code(Text(w.File)))),
			If(w.Project != "", P(Text("In a project: "), Code(Text(w.Project)))),
			hintLine(Text("A file that has other servers already keeps them: add only the entry.")),
			copiedText("connect-file", w.Text, "Copy the file"),
		}),
		Map(w.Notes, func(note string) Node { return P(Class("warn"), Text(show.Escaped(note))) }),
	}
}

// copiedText is a text with a button that copies it.
func copiedText(id, text, button string) Node {
	return Group{
		Pre(ID(id), TabIndex("0"), Text(visibleLines(text))),
		Button(Type("button"), Data("copy", id), Text(button)),
	}
}

// connectCreated shows a new key.
func connectCreated(k *createdKey) Node {
	return resultCard(Aria("labelledby", "new-key"),
		H2(ID("new-key"), Text("New key")),
		P(Text("This is shown only now. indus keeps no copy of it.")),
		copiedText("connect-token", k.Token, "Copy the key"),
		P(Text(show.Escaped(k.about())+". To remove it: "), Code(Text("indus key rm "+k.ID))),
	)
}

// connectKey is the form for a new key.
func connectKey(p *connectPage) Node {
	owner := "The person or program that uses the key. Without one, the key is a principal of its own."
	if p.owner != "" {
		owner = "You create keys for yourself. The operator creates the others."
	}
	return Group{
		H2(ID("create-key"), Text("Create a key")),
		Form(Method("post"), actionTo("/connect/key"), Class("stack"), AutoComplete("off"),
			hiddenField("client", p.Client),
			keyField("principal", "Principal", p.ownerName(), p.owner != "", owner),
			keyField("groups", "Groups", "", false, "For policies, with spaces between them. Members of the group admin may "+
				"administer indus, unless a policy decides."),
			Div(Label(For("key-view"), Text("Valid for")),
				Select(ID("key-view"), Name("view"), choiceOptions(p.View, p.viewChoices("all servers and views")))),
			keyField("expires", "Expires after", "", false,
				"Such as 90d or 12h. Without a time, it is valid until it is removed."),
			Div(Class("actions"), Button(Class("main"), Text("Create a key"))),
		),
		hintLine(Text("Also: "), Code(Text("indus key add")), Text(", "), Code(Text("indus key ls")), Text(", "),
			Code(Text("indus key rm"))),
	}
}

// keyField is a field with its description.
func keyField(name, label, value string, isFixed bool, about string) Node {
	return Div(
		Label(For(name), Text(label)),
		Input(ID(name), Name(name), Value(value), Aria("describedby", name+"-about"), If(isFixed, ReadOnly())),
		Div(ID(name+"-about"), Class("hint"), Text(about)),
	)
}
