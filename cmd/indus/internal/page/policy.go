package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/policy"
	"maragu.dev/gomponents"
)

// policySection is the section at "/policy".
var policySection = section{
	path: "policy", title: "Policy", fields: "page rule", data: readPolicy,
	actions: map[string]func(*visit) (string, error){"explain": explainPolicy},
}

const (
	maxRulesShown    = 50  // on a page
	maxFindingsShown = 100 // of all rules
)

// The modes of a policy.
const (
	modeNone    = "none" // there is no policy, and everything is permitted
	modeEnforce = "enforce"
	modeReport  = "report" // decides without effect
)

// policyData is the content of "/policy".
type policyData struct {
	Mode    string        `json:"mode"`
	Files   []string      `json:"files"`
	Version string        `json:"version,omitempty"`
	Rules   []policy.Text `json:"rules"`
	pagination
	Rule         string           `json:"rule,omitempty"` // the ID of the only rule that is shown
	Findings     []policy.Finding `json:"findings"`
	MoreFindings int              `json:"moreFindings,omitempty"`
	// Problem is the reason why the policy cannot be used as it is now. The rules are those that were loaded before.
	Problem string `json:"problem,omitempty"`
	// Explanation is the answer to the action "explain".
	Explanation *explanation `json:"explanation,omitempty"`

	form explainForm
}

// explanation is the decision about a request, as "indus policy explain --json" prints it.
type explanation struct {
	Word string `json:"verdict"`
	policy.Explanation
	lines []string
}

// explainForm holds the fields of the form, and the choices of its lists.
type explainForm struct {
	describe.Query
	groups, args string // as they were typed
	views, items []string
}

// currentPolicy returns the policy that decides now, or nil, and its mode.
func (s *Site) currentPolicy() (*policy.Set, string) {
	switch set, report := s.Control.Policy(); {
	case set == nil:
		return nil, modeNone
	case report:
		return set, modeReport
	default:
		return set, modeEnforce
	}
}

func readPolicy(v *visit) (*content, error) {
	d := v.policyData()
	return &content{d, func() gomponents.Node { return policyPage(v, d) }}, nil
}

func (v *visit) policyData() *policyData {
	set, mode := v.site.currentPolicy()
	d := &policyData{Mode: mode, Files: []string{}, Rules: []policy.Text{}, Findings: []policy.Finding{}}
	d.form = v.explainForm()
	if err := v.site.PolicyProblem(); err != nil {
		d.Problem = err.Error()
	}
	if set == nil {
		return d
	}
	d.Version, d.Files = set.Version(), set.Files()
	rules := set.Rules()
	if d.Rule = v.URL.Query().Get("rule"); d.Rule != "" {
		rules = show.Where(rules, func(r policy.Text) bool { return r.ID == d.Rule })
	}
	d.Rules, d.pagination = paginate(v, rules, maxRulesShown)
	findings := set.Check()
	d.MoreFindings = max(0, len(findings)-maxFindingsShown)
	d.Findings = append(d.Findings, findings[:len(findings)-d.MoreFindings]...)
	return d
}

// explainForm returns the form as it was sent, with the choices of its lists.
func (v *visit) explainForm() explainForm {
	get := func(name string) string { return strings.TrimSpace(v.PostForm.Get(name)) }
	f := explainForm{
		Query: describe.Query{
			As: cmp.Or(get("as"), "local"), Action: policy.Action(get("action")), View: get("view"), Client: get("client"),
			Era: get("era"), Address: get("address"), Item: get("item"),
		},
		groups: get("groups"), args: get("args"), views: []string{""},
	}
	attached := v.site.Gateway.Attached()
	for _, s := range attached.Fleet.Servers() {
		f.views = append(f.views, s.ID)
	}
	for _, view := range v.site.Config().Views {
		f.views = append(f.views, "@"+view.Name)
	}
	for _, d := range attached.Snapshot("").Tools {
		if len(f.items) == maxOffered {
			break
		}
		f.items = append(f.items, d.Server+"/"+d.Tool)
	}
	return f
}

// policyActions lists the actions of the form.
var policyActions = []policy.Action{
	policy.Call, policy.List, policy.Read, policy.Get, policy.Complete, policy.Subscribe, policy.Ask, policy.Approve,
	policy.Administer,
}

// explainPolicy explains the decision about a request, as "indus policy explain" does.
func explainPolicy(v *visit) (string, error) {
	d := v.policyData()
	v.answer = &content{d, func() gomponents.Node { return policyPage(v, d) }}
	set, _ := v.site.currentPolicy()
	if set == nil {
		return "", errors.New("there is no policy, and everything is permitted")
	}
	r, err := v.policyRequest(&d.form)
	if err != nil {
		return "", err
	}
	e := set.Explain(r)
	d.Explanation = &explanation{describe.Verdict(e.Verdict), e, describe.Explained(e, r)}
	return "", nil
}

// policyRequest returns the request of a form. A tool that is listed has its annotations.
func (v *visit) policyRequest(f *explainForm) (*policy.Request, error) {
	for group := range strings.SplitSeq(f.groups, ",") {
		if group = strings.TrimSpace(group); group != "" {
			f.Groups = append(f.Groups, group)
		}
	}
	if f.args != "" {
		if f.Args = json.RawMessage(f.args); !json.Valid(f.Args) {
			return nil, errors.New(`the arguments are not JSON: write an object, such as {"path": "/tmp"}`)
		}
	}
	r, err := f.Request()
	if err == nil && r.Item.Kind == policy.Tool {
		r.Item = v.site.Control.PolicyItem(r.Item.Server, r.Item.Name)
	}
	return r, err
}

// modeText describes the mode of the policy.
func modeText(d *policyData) string {
	switch d.Mode {
	case modeNone:
		return "There is no policy: every caller may do everything."
	case modeReport:
		return "The policy decides without effect: it logs and records the verdicts, and denies nothing."
	}
	return "The policy decides: a request that no permit covers is denied."
}

// wordsOf returns the values of an enumeration.
func wordsOf[T ~string](all []T) []string {
	return show.Names(all, func(one T) string { return string(one) })
}
