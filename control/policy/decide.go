package policy

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"
	"github.com/indusagi/indus/internal/uris"
)

// Decide decides about a request. It also denies an action if the caller may not perform an action that it requires:
// see [Action]. The verdict about an equal request is returned again: do not change its slices.
func (s *Set) Decide(r *Request) Verdict {
	var buffer [512]byte
	key, lasting := s.appendKey(buffer[:0], r)
	if lasting {
		if verdict, ok := s.decided.find(key); ok {
			return verdict
		}
	}
	copied := *r // so that the request of the caller can be on its stack
	verdict := s.decide(&copied)
	if lasting {
		s.decided.store(key, verdict)
	}
	return verdict
}

// decide is Decide without its memory.
func (s *Set) decide(r *Request) Verdict {
	d := decision{set: s, request: r}
	action, isListed := listedBy[r.Item.Kind]
	if r.Action != List || !isListed {
		return d.decideAll(newEnvironment(r, r.Action), r.Action, r.AnyArguments)
	}
	return d.decideAll(newEnvironment(r, action), action, true)
}

// listedBy maps the kinds of items to the action that lists them.
var listedBy = map[Kind]Action{Tool: Call, Prompt: Get, Resource: Read}

// MayList reports for each item whether a list shows it to the caller of r. It ignores the action, the item and the
// arguments of r.
func (s *Set) MayList(r *Request, items []Item) []bool {
	copied := *r // as in Decide
	d := decision{set: s, request: &copied, seen: map[string]Verdict{}}
	shown := make([]bool, len(items))
	if len(items) == 0 {
		return shown
	}
	caller := newEnvironment(&copied, List)
	for i := range items {
		action, isListed := listedBy[items[i].Kind]
		if !isListed {
			action = List
		}
		shown[i] = d.decideAll(caller.with(&items[i], action), action, true).Allowed
	}
	return shown
}

// decideAll decides about an action, and about the actions that it requires. /a%40b and /a@b are two paths, and one for
// a server that decodes them: a rule for the plain path is a rule for both. So is a rule for a URL without a user and a
// fragment, which name no other resource.
func (d *decision) decideAll(e *environment, action Action, anyArguments bool) Verdict {
	verdict := d.decideSpelled(e, action, anyArguments)
	if e.item.Kind != Resource || !verdict.Allowed || !strings.ContainsAny(e.item.Name, "%#@") {
		return verdict
	}
	u, err := uris.Parse(e.item.Name)
	if err != nil || u.Plain == e.item.Name {
		return verdict
	}
	item := *e.item
	item.Name = u.Plain
	plain := d.decideSpelled(e.with(&item, action), action, anyArguments)
	plain.Approve = stricterOf(plain.Approve, verdict.Approve)
	return plain
}

// decideSpelled is decideAll for one spelling of a URI.
func (d *decision) decideSpelled(e *environment, action Action, anyArguments bool) Verdict {
	verdict := d.decide(e, action, anyArguments)
	if !verdict.Allowed {
		return verdict
	}
	needed := List
	switch {
	case action == Subscribe, action == Complete && e.item.Kind == Resource:
		needed = Read
	case action == Complete && e.item.Kind == Prompt:
		needed = Get
	}
	if needed != List {
		other := d.decide(e.with(e.item, needed), needed, true)
		if !other.Allowed {
			return other
		}
	}
	if action != List && len(d.set.hides) > 0 {
		if hidden := d.hidden(e.with(e.item, List)); !hidden.Allowed {
			return hidden
		}
	}
	return verdict
}

// decision decides about one request.
type decision struct {
	set     *Set
	request *Request
	seen    map[string]Verdict // of items that the conditions do not distinguish, by the rules; nil for a single item
}

// matched is a rule that may apply.
type matched struct {
	*rule
	scope   truth
	problem string // the rule cannot be evaluated
	applies bool
}

// decide applies the rules of one action.
func (d *decision) decide(e *environment, action Action, anyArguments bool) Verdict {
	of := d.set.byAction[action]
	if of == nil {
		return Verdict{Problems: []string{fmt.Sprintf("the action %q is unknown", action)}}
	}
	var verdict Verdict
	found := make([]matched, 0, 16)
	conditional, sameForItems := false, d.seen != nil && !e.item.Template
	for _, r := range of.all {
		if !r.coversPrincipal(e) {
			continue
		}
		if scope := r.coversResource(e); scope != isFalse {
			found = append(found, matched{rule: r, scope: scope, applies: r.conditions == nil && scope == isTrue})
			conditional = conditional || r.conditions != nil || scope == isUnknown
			sameForItems = sameForItems && !r.mentions.item
		}
	}
	if problem := d.refused(e, of); problem != "" {
		verdict.Problems = append(verdict.Problems, problem)
		return verdict
	}
	if !conditional {
		return combine(found)
	}
	key := ""
	if sameForItems {
		key = keyOf(action, found)
		if known, ok := d.seen[key]; ok {
			return known
		}
	}
	if problem := d.conditions(e, action, found, anyArguments); problem != "" {
		verdict.Problems = append(verdict.Problems, problem)
	} else {
		verdict = combine(found)
	}
	if sameForItems {
		d.seen[key] = verdict
	}
	return verdict
}

// keyOf returns a key of an action and the rules that may apply.
func keyOf(action Action, found []matched) string {
	key := []byte(action)
	for _, m := range found {
		key = append(key, ' ')
		key = append(key, m.id...)
	}
	return string(key)
}

// refused returns the reason why an item is denied before any rule, or "".
func (d *decision) refused(e *environment, of *rules) string {
	if e.item.Kind != Resource || e.item.Template || !of.mentions.uri {
		return ""
	}
	if _, err := canonical(e.item.Name); err != nil {
		return err.Error()
	}
	return ""
}

// combine returns the verdict about the rules that apply: a forbid overrides all permits.
func combine(found []matched) Verdict {
	var verdict Verdict
	for _, m := range found {
		if m.problem != "" {
			verdict.Problems = append(verdict.Problems, fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.problem))
		}
	}
	effect := "permit"
	if slices.ContainsFunc(found, func(m matched) bool { return m.applies && !m.permit }) {
		effect = "forbid"
	}
	for _, m := range found {
		if !m.applies || m.Effect != effect {
			continue
		}
		verdict.Rules = append(verdict.Rules, m.Rule)
		verdict.RuleIDs = append(verdict.RuleIDs, m.ID)
		verdict.Audit.Arguments = verdict.Audit.Arguments || m.audit.Arguments
		verdict.Audit.Result = verdict.Audit.Result || m.audit.Result
		if m.permit {
			verdict.Allowed = true
			verdict.Approve = stricterOf(verdict.Approve, m.approve)
			if m.rate != nil {
				verdict.Rates = append(verdict.Rates, *m.rate)
			}
		}
	}
	return verdict
}

var strictness = []Approval{NoApproval, EitherApproves, CallerApproves, OtherApproves}

func stricterOf(a, b Approval) Approval {
	if slices.Index(strictness, a) > slices.Index(strictness, b) {
		return a
	}
	return b
}

// hidden applies the forbids of the action list.
func (d *decision) hidden(e *environment) Verdict {
	allowed := Verdict{Allowed: true}
	if !slices.ContainsFunc(d.set.hides, func(r *rule) bool {
		return r.coversPrincipal(e) && r.coversResource(e) != isFalse
	}) {
		return allowed
	}
	if problem := d.refused(e, d.set.byAction[List]); problem != "" {
		return Verdict{Problems: []string{problem}}
	}
	verdict := d.decide(e, List, false)
	if slices.ContainsFunc(verdict.Rules, func(r Rule) bool { return r.Effect == "forbid" }) {
		return verdict
	}
	return allowed
}

// conditions evaluates the conditions of the rules. It returns a reason to deny the request, or "".
func (d *decision) conditions(e *environment, action Action, found []matched, anyArguments bool) string {
	of := &d.set.byAction[action].mentions
	hasArguments := action == Call || action == Get
	unknown := hasArguments && anyArguments
	var converted args
	var record *types.Record
	if hasArguments && !unknown {
		if len(of.uses) > 0 {
			converted = convertArguments(d.request.Arguments, of.wants)
			if converted.fault != "" {
				return converted.fault
			}
			converted.gaps = append(converted.gaps, otherSpellings(d.request.Arguments, of.uses)...)
		}
		record = &converted.record
	} else if unknown {
		record = &types.Record{}
	}
	e.request.Context = contextOf(d.request, of.context, record)
	if unknown || e.item.Template {
		d.possible(e, found)
		return ""
	}
	evaluate(e, found, converted.gaps)
	return ""
}

// evaluate evaluates the conditions of rules whose scopes apply.
func evaluate(e *environment, found []matched, gaps []gap) {
	_, result := cedar.Authorize(sequence(func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		for _, m := range found {
			if m.conditions != nil && !yield(m.id, m.withoutGaps(gaps)) {
				return
			}
		}
	}), e, e.request)
	byID := func(id cedar.PolicyID) *matched {
		return &found[slices.IndexFunc(found, func(m matched) bool { return m.id == id })]
	}
	for _, reason := range result.Reasons {
		byID(reason.PolicyID).applies = true
	}
	for _, failed := range result.Errors {
		m := byID(failed.PolicyID)
		m.problem, m.applies = failed.Message, !m.permit
	}
}

// sequence implements cedar.PolicyIterator.
type sequence iter.Seq2[cedar.PolicyID, *cedar.Policy]

// All returns the policies.
func (s sequence) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return iter.Seq2[cedar.PolicyID, *cedar.Policy](s)
}

// withoutGaps returns the conditions of the rule. Uses of values that Cedar cannot represent become errors.
func (r *rule) withoutGaps(gaps []gap) *cedar.Policy {
	if !slices.ContainsFunc(r.mentions.uses, func(u use) bool { return touched(u, gaps) != nil }) {
		return r.conditions
	}
	var edit func(ast.IsNode) ast.IsNode
	edit = func(n ast.IsNode) ast.IsNode {
		u, ok := useOf(n)
		if !ok && variable(n) == "context" {
			u, ok = use{}, true
		}
		if ok {
			if g := touched(u, gaps); g != nil {
				return eval.PartialError(fmt.Errorf("%s %s", g.place, g.reason))
			}
			return n
		}
		if owner, _ := memberOf(n); variable(owner) == "context" {
			return n
		}
		return mapChildren(n, edit)
	}
	conditions := slices.Clone(r.ast.Conditions)
	for i := range conditions {
		conditions[i].Body = edit(conditions[i].Body)
	}
	return compiled(conditions)
}

// touched returns a gap that a use depends on, or nil.
func touched(u use, gaps []gap) *gap {
	for i := range gaps {
		if u.touches(gaps[i].path) {
			return &gaps[i]
		}
	}
	return nil
}
