package describe

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/control/policy"
)

// Query is a request to a policy in the words of the command line, of expectations and of the page.
type Query struct {
	As      string          `json:"as"`
	Groups  []string        `json:"groups"`
	Action  policy.Action   `json:"action"`
	Item    string          `json:"item"`
	Args    json.RawMessage `json:"args"`
	View    string          `json:"view"`
	Client  string          `json:"client"`
	Era     string          `json:"era"`
	Address string          `json:"address"`
	Time    time.Time       `json:"time"`
	Claims  map[string]bool `json:"claims"`
	Changed bool            `json:"changed"`
}

// kinds maps actions to the kinds of their items. The first is the default.
var kinds = map[policy.Action][]policy.Kind{
	policy.Call: {policy.Tool}, policy.Approve: {policy.Tool}, policy.List: {policy.Tool}, policy.Get: {policy.Prompt},
	policy.Read: {policy.Resource}, policy.Subscribe: {policy.Resource}, policy.Complete: {policy.Prompt},
	policy.Ask: {policy.Server}, policy.Administer: {policy.Server},
}

// Request returns the request.
func (q *Query) Request() (*policy.Request, error) {
	if q.Action == "" {
		q.Action = policy.Call
	}
	kind, ok := kinds[q.Action]
	if !ok {
		return nil, fmt.Errorf("the action %q is unknown: there are list, call, read, get, complete, subscribe, ask, "+
			"approve and administer", q.Action)
	}
	if q.Era != "" && q.Era != "legacy" && q.Era != "modern" {
		return nil, fmt.Errorf("the era %q is unknown: there are legacy and modern", q.Era)
	}
	item, err := q.item(kind[0])
	if err != nil {
		return nil, err
	}
	r := &policy.Request{
		Principal: policy.Principal{Name: principalOf(q.As), Groups: q.Groups}, Action: q.Action, Item: item,
		View: q.View, Client: q.Client, Era: q.Era, Address: q.Address, Time: q.Time,
		Arguments: q.Args, AnyArguments: q.Args == nil,
	}
	if r.Era == "" {
		r.Era = "modern"
	}
	return r, nil
}

// principalOf returns the principal with the id of a User entity. A principal itself is also accepted: "user:alice".
func principalOf(id string) string {
	for _, name := range []string{"", "user:" + id, id} {
		if policy.UserID(name) == id {
			return name
		}
	}
	return "user:" + strings.TrimPrefix(id, "user:")
}

// item reads SERVER/NAME, SERVER__NAME, SERVER/URI, SERVER, or @VIEW.
func (q *Query) item(kind policy.Kind) (policy.Item, error) {
	item := policy.Item{Kind: kind, Changed: q.Changed}
	slash, low := strings.Index(q.Item, "/"), strings.Index(q.Item, "__")
	switch {
	case kind == policy.Server && strings.HasPrefix(q.Item, "@"):
		item.Kind, item.Name = policy.View, q.Item
	case kind == policy.Server:
		item.Server = q.Item
	case slash >= 0 && (low < 0 || slash < low):
		item.Server, item.Name = q.Item[:slash], q.Item[slash+1:]
	case low >= 0:
		item.Server, item.Name = q.Item[:low], q.Item[low+2:]
	}
	item.Server = strings.NewReplacer("%2F", "/", "%25", "%").Replace(item.Server)
	if item.Server == "" && item.Name == "" || kind != policy.Server && item.Name == "" {
		return policy.Item{}, fmt.Errorf("the item %q is not SERVER/NAME, such as github/create_issue", q.Item)
	}
	if kind != policy.Server && q.Action != policy.Call && strings.Contains(item.Name, ":") {
		item.Kind = policy.Resource // list or complete
		item.Template = strings.Contains(item.Name, "{")
	}
	for name, value := range q.Claims {
		target := map[string]**bool{"readOnly": &item.Claims.ReadOnly, "destructive": &item.Claims.Destructive,
			"idempotent": &item.Claims.Idempotent, "openWorld": &item.Claims.OpenWorld}[name]
		if target == nil {
			return policy.Item{}, fmt.Errorf("the claim %q is unknown: there are readOnly, destructive, idempotent and "+
				"openWorld", name)
		}
		*target = &value
	}
	return item, nil
}

// Verdict returns a verdict as a word: allow, deny or approve.
func Verdict(v policy.Verdict) string {
	switch {
	case !v.Allowed:
		return "deny"
	case v.Approve != policy.NoApproval:
		return "approve"
	}
	return "allow"
}

var approvers = map[policy.Approval]string{
	policy.CallerApproves: "an approval by the caller",
	policy.OtherApproves:  "an approval by another person",
	policy.EitherApproves: "an approval by the caller or another person",
}

// Explained returns the lines of an explanation for a person. The first is the verdict. Lines that begin with spaces
// belong to the line before.
func Explained(e policy.Explanation, r *policy.Request) (lines []string) {
	anyArguments := r.AnyArguments && (r.Action == policy.Call || r.Action == policy.Get)
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	add("%s", Verdict(e.Verdict))
	if e.Allowed && anyArguments {
		add("with some arguments")
	}
	if e.Approve != policy.NoApproval {
		add("%s", approvers[e.Approve])
	}
	for _, rate := range e.Rates {
		add("at most %d calls per %s (%s)", rate.Calls, rate.Per, rate.Policy)
	}
	switch {
	case e.Audit.Result:
		add("the audit record has the arguments and the result")
	case e.Audit.Arguments:
		add("the audit record has the arguments")
	}
	for _, r := range e.Rules {
		add("%s %s", r.Effect, PlaceOf(r))
	}
	if !e.Allowed && len(e.Rules) == 0 {
		add("no permit applies")
	}
	for _, problem := range e.Problems {
		add("problem: %s", problem)
	}
	for _, near := range e.Near {
		add("%s %s would apply, but:", near.Effect, PlaceOf(near.Rule))
		for _, missing := range near.Missing {
			add("  %s", missing)
		}
	}
	return lines
}

// PlaceOf returns the place of a rule, and its id if it has its own.
func PlaceOf(r policy.Rule) string {
	place := r.File + ":" + strconv.Itoa(r.Line)
	if r.ID == place {
		return place
	}
	return place + " (" + r.ID + ")"
}
