package page

import (
	"net/url"
	"strconv"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func tryShown(p *tryPage) Node {
	switch {
	case p.Held != nil:
		return tryHeld(p)
	case p.Tool == nil:
		return tryList(p)
	}
	return tryCall(p)
}

// tryHeld shows why a held tool cannot be called, and leads to the decision.
func tryHeld(p *tryPage) Node {
	return Group{
		P(A(hrefTo("/try?server="+url.QueryEscape(p.Server)), Text("Other tools"))),
		H2(Text(show.Escaped(p.name))),
		P(Class("warn"), Text("It "+p.Held.State()+". It can be called once a person has accepted it.")),
		placeList(p.Held),
		P(A(hrefTo("/changes?server="+url.QueryEscape(p.Server)+"#tool-"+p.Held.Sum),
			Text("Accept or refuse it in Changes"))),
	}
}

// tryList lists tools to choose from.
func tryList(p *tryPage) Node {
	rows := tableRows(p.Tools, func(one *tryTool) []Node {
		return []Node{
			A(hrefTo("/try?tool="+url.QueryEscape(one.Name)), Text(show.Escaped(one.Name))),
			Text(show.Escaped(one.Server)),
			Group{If(one.Title != "", Text(show.Escaped(one.Title)+": ")), Text(show.Escaped(one.Summary))},
		}
	})
	return Group{
		searchForm("try",
			choiceField("server", "Server", p.Server, p.serverChoices(), true),
			searchField("Name, title or description", p.Filter),
			Button(Text("Filter")),
		),
		offeredHint(len(p.Servers)),
		dataTable("No tool matches.", strconv.Itoa(len(p.Tools))+" of "+show.Count(p.Total, "tool"),
			[]string{"=Tool", "Server", "Description"}, rows),
		If(p.Total > len(p.Tools), hintLine(Text("Choose a server or type a filter to see the others."))),
		hintLine(Text("Also: "), Code(Text("indus page try")), Text(", "), Code(Text("indus mcp tools")), Text(", "),
			Code(Text("indus mcp call"))),
	}
}

// tryCall shows one tool, its answer and its form.
func tryCall(p *tryPage) Node {
	f := p.Tool
	effect := Span(Class("warn"), Text("It may change something."))
	if f.Reads {
		effect = Span(Class("soft"), Text("Its server claims that it changes nothing."))
	}
	return Group{
		P(A(hrefTo("/try?server="+url.QueryEscape(p.Server)), Text("Other tools"))),
		H2(Text(show.Escaped(f.Name))),
		If(f.Title != "", P(Strong(Text(show.Escaped(f.Title))))),
		P(effect),
		If(f.About != "", Details(If(p.Answer == nil, Attr("open")), Summary(Text("Description")),
			textBlock("", visibleLines(f.About)))),
		Iff(p.Answer != nil, func() Node { return tryAnswered(p.Answer) }),
		If(f.Command != "", hintLine(Text("Also: "), Code(ID("try-command"), Text(f.Command)))),
		Map(f.wrong, func(one string) Node { return P(Class("bad"), Text(show.Escaped(one))) }),
		H3(Text("Arguments")),
		tryArguments(f),
		Details(If(f.typed != "", Attr("open")), Summary(Text("Arguments as JSON")),
			tryJSON(f),
			Iff(f.Schema != nil, func() Node { return Group{H3(Text("Schema")), textBlock("", f.schemaText())} })),
	}
}

// tryArguments is the form with a field for each argument.
func tryArguments(f *tryForm) Node {
	return Form(Method("post"), actionTo("/try/call"), Class("stack"), AutoComplete("off"),
		hiddenField("tool", f.Name),
		If(len(f.fields) == 0 && f.rest == 0, emptyList("It declares no arguments.")),
		Map(f.fields, func(one tryField) Node { return tryInput(&one) }),
		If(f.rest > 0, hintLine(Text(show.Count(f.rest, "further argument")+": use the JSON below."))),
		trySend(f, ""),
	)
}

// tryJSON is the form with all arguments as JSON.
func tryJSON(f *tryForm) Node {
	return Form(Method("post"), actionTo("/try/call"), Class("stack"), AutoComplete("off"),
		hiddenField("tool", f.Name),
		Label(For("args"), Text("A JSON object")),
		Textarea(ID("args"), Name("args"), Rows("8"), Attr("spellcheck", "false"), Text(f.asJSON())),
		trySend(f, "json-"),
	)
}

// trySend ends a form with its buttons. prefix makes the ids unique.
func trySend(f *tryForm, prefix string) Node {
	return Group{
		Div(Class("actions"),
			Label(For(prefix+"wait"), Text("Wait at most")),
			Input(ID(prefix+"wait"), Name("wait"), Type("number"), Min("1"), Max("600"), Value(f.wait)),
			Text("seconds"),
		),
		Div(Class("actions"), tryButton(f, "Call", ""), If(f.misfit, tryButton(f, "Call even so", "yes"))),
	}
}

func tryButton(f *tryForm, label, force string) Node {
	return Button(Class("main"), If(!f.Reads, Data("ask", "Really call it?")),
		If(force != "", Group{Name("force"), Value(force), FormNoValidate()}), Text(label))
}

// tryInput is one field of the form.
func tryInput(f *tryField) Node {
	if f.Kind == arguments.Group {
		return FieldSet(ID(f.id), Aria("describedby", f.describedBy()),
			Legend(Text(f.label())), tryAbout(f), Map(f.fields, func(one tryField) Node { return tryInput(&one) }))
	}
	return Div(Label(For(f.id), Text(f.label())), tryElement(f), tryAbout(f))
}

// tryElement is the element in which a person types a value.
func tryElement(f *tryField) Node {
	common := Group{ID(f.id), f.attributes()}
	switch {
	case f.Kind == arguments.Choice:
		none := "not given"
		if f.Required {
			none = "choose"
		}
		return Select(common, Option(Value(""), Text(none)), Map(f.Choices, func(one string) Node {
			return Option(Value(one), If(one == f.text, Selected()), Text(show.Escaped(one)))
		}))
	case f.isLong():
		return Textarea(common, Rows("4"), Attr("spellcheck", "false"), Text(f.text))
	case f.Kind == arguments.Hidden:
		return Input(common, Type("password"), AutoComplete("off"))
	}
	return Input(common, Type(f.inputType()), Value(f.text))
}

// tryAbout has the texts about a field.
func tryAbout(f *tryField) Node {
	return Group{
		Div(ID(f.id+"-about"), Class("hint"), Text(f.hint()),
			If(f.About != "", Group{Br(), Text(visibleLines(f.About))})),
		If(f.wrong != "", Div(ID(f.id+"-wrong"), Class("bad"), Text(show.Escaped(f.wrong)))),
	}
}

// tryAnswered shows the answer of a tool.
func tryAnswered(a *tryAnswer) Node {
	result := Span(Class("good"), Text("ok"))
	if a.IsError {
		result = Strong(Class("bad"), Text("The tool reports an error"))
	}
	return resultCard(Aria("labelledby", "answer"),
		H3(ID("answer"), Text("Answer")),
		P(result, Text(", "+formatMS(a.Millis)+", "+formatBytes(int64(a.Bytes)))),
		Map(a.Notes, func(one string) Node { return P(Class("warn"), Text(show.Escaped(one))) }),
		If(len(a.parts) == 0 && a.structured == "", emptyList("The answer is empty.")),
		Map(a.parts, answerPart),
		If(a.left > 0, hintLine(Text(show.Count(a.left, "further part")+
			" of the answer: see the same call as a command."))),
		If(a.structured != "", Group{H4(Text("Structured content")), textBlock("", a.structured), tryCut(a.cut)}),
	)
}

func answerPart(one tryPart) Node {
	if one.image != "" {
		return P(Img(Class("result"), srcOf(one.image), Alt(one.alt)))
	}
	return Group{textBlock("", one.text), tryCut(one.cut)}
}

func tryCut(missing int) Node {
	return If(missing > 0, hintLine(Text(formatBytes(int64(missing))+" in the middle are left out.")))
}
