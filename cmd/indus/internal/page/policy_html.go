package page

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/policy"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

// policyPage shows the policy. A new one does not empty the form of the old one; only the first one brings the form.
func policyPage(v *visit, d *policyData) Node {
	isGet, exists := v.Method == http.MethodGet, d.Mode != modeNone
	return Group{
		Div(ID("policy-mode"), liveIf(isGet, "policy"),
			P(Text(modeText(d))),
			If(d.Problem != "", Div(Class("problem"), Role("alert"),
				P(Text("The policy cannot be used as it is now. The policy that was loaded before goes on:")),
				textBlock("", escapedLines(d.Problem)))),
		),
		Div(ID("policy-form"), liveIf(!exists && isGet, "policy"), If(exists, Group{
			H2(Text("Explain")), explainFields(&d.form),
			Iff(d.Explanation != nil, func() Node { return explained(d.Explanation) }),
		})),
		Div(ID("policy-rules"), liveIf(isGet, "policy"), If(exists, Group{
			H2(Text("Findings")), findingList(d), H2(ID("rules"), Text("Rules")), ruleList(v, d),
		})),
		hintLine(Text("Also: "), Code(Text("indus policy check")), Text(" and "), Code(Text("indus policy explain"))),
	}
}

func ruleList(v *visit, d *policyData) Node {
	if d.Rule != "" {
		none := "There is no rule " + d.Rule + " any more: the policy has changed since."
		return Group{
			If(len(d.Rules) == 0, emptyList(show.Escaped(none))), Map(d.Rules, ruleText),
			P(A(hrefTo("/policy#rules"), Text("All rules"))),
		}
	}
	return Group{
		P(Class("soft"), Text(show.Count(d.Total, "rule")+" of "+show.Escaped(strings.Join(d.Files, ", ")))),
		Map(d.Rules, ruleText), pageLinks(v, d.pagination),
	}
}

// ruleLinks leads from a denied request to the rules that decided.
func ruleLinks(ids []string) Node {
	return Map(ids, func(id string) Node {
		return Group{Text(" by "), ruleLink(id)}
	})
}

// ruleLink leads to the text of a rule.
func ruleLink(id string) Node {
	return A(hrefTo("/policy?rule="+url.QueryEscape(id)+"#rules"), Text(show.Escaped(id)))
}

func ruleText(r policy.Text) Node {
	place := describe.PlaceOf(r.Rule)
	return Section(Aria("label", place), H3(Class("mono"), Text(show.Escaped(place))),
		textBlock("The text of the rule", escapedLines(r.Text)))
}

func findingList(d *policyData) Node {
	if len(d.Findings) == 0 {
		return emptyList("No rule is without effect, as far as the check finds.")
	}
	return Group{
		Ul(Map(d.Findings, func(f policy.Finding) Node { return Li(Class("warn"), Text(show.Escaped(f.String()))) })),
		If(d.MoreFindings > 0, hintLine(Text(strconv.Itoa(d.MoreFindings)+" more are in "),
			Code(Text("indus policy check")), Text("."))),
	}
}

// explainFields is the form for a request to the policy.
func explainFields(f *explainForm) Node {
	return Form(Method("post"), actionTo("/policy/explain"), Class("stack"),
		Div(Class("inline"),
			textField("as", "Caller", f.As, "alice, or local"),
			textField("groups", "Groups, with commas", f.groups, "dev, admin"),
			choiceField("action", "Action", string(f.Action), choicesOf(wordsOf(policyActions), ""), false),
			choiceField("view", "View", f.View, choicesOf(f.views, "everything"), false),
		),
		offeredHint(len(f.views)),
		Div(
			Label(For("item"), Text("Item")),
			Input(ID("item"), Name("item"), Value(f.Item), List("items"), Placeholder("SERVER/TOOL"), AutoComplete("off"),
				Required()),
			DataList(ID("items"), Map(f.items, func(item string) Node { return Option(Value(show.Escaped(item))) })),
			P(Class("hint"), ID("item-hint"),
				Text("A tool is SERVER/TOOL. For read write SERVER/URI, for get SERVER/PROMPT, for ask SERVER.")),
		),
		Div(
			Label(For("args"), Text("Arguments as JSON")),
			Textarea(ID("args"), Name("args"), Attr("spellcheck", "false"), Aria("describedby", "args-hint"), Text(f.args)),
			P(Class("hint"), ID("args-hint"),
				Text("Without arguments, the question is whether some arguments would be permitted.")),
		),
		Details(Summary(Text("Client, era and address")), Div(Class("inline"),
			textField("client", "Client", f.Client, "claude-code"),
			choiceField("era", "Era", f.Era, choicesOf([]string{"modern", "legacy"}, ""), false),
			textField("address", "IP address", f.Address, "192.0.2.1"),
		)),
		Div(Button(Class("main"), Text("Explain"))),
	)
}

// explained is the verdict about a request.
func explained(e *explanation) Node {
	class := "bad"
	if e.Allowed {
		class = "good"
	}
	return resultCard(Aria("labelledby", "verdict"),
		H3(ID("verdict"), Text("Verdict: "), Span(Class(class), Text(e.Word))),
		Iff(len(e.lines) > 1, func() Node { return textBlock("Reasons", escapedLines(strings.Join(e.lines[1:], "\n"))) }),
	)
}
