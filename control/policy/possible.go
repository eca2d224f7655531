package policy

import (
	"iter"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"
)

// maxTrials bounds the arguments that are tried for a combination of conditions.
const maxTrials = 4096

// possible decides which rules can apply while the arguments, or the URI of a template, are unknown. It marks the
// permits that can apply, unless all forbids together deny each of them. Then it marks these forbids.
func (d *decision) possible(e *environment, found []matched) {
	r := reducer{unknown: e.unknownParts(), env: eval.Env{Entities: e, Principal: e.request.Principal,
		Action: e.request.Action, Resource: e.request.Resource, Context: e.request.Context}}
	known := make([]matched, 0, len(found))
	for _, m := range found {
		if m.conditions != nil && !m.dependsOnUnknown(e) {
			known = append(known, m)
		}
	}
	evaluate(e, known, nil)
	var open residue
	certain, denied := false, false
	for i := range found {
		m := &found[i]
		condition := ast.IsNode(ast.NodeValue{Value: types.True})
		switch {
		case m.conditions != nil && m.dependsOnUnknown(e):
			condition = r.reduceRule(m.rule)
		case m.conditions != nil:
			result := known[0]
			known = known[1:]
			m.problem = result.problem
			condition = ast.NodeValue{Value: types.Boolean(result.applies)}
		}
		can := outcomesOf(condition)
		if m.scope == isUnknown {
			can.isFalse = true
			open.incomplete = true
		}
		switch {
		case m.permit:
			m.applies = can.isTrue
			if can.isTrue {
				certain = certain || !can.isFalse && !can.isError
				open.permits = append(open.permits, condition)
			}
		case !can.isFalse:
			m.applies, denied = true, true
		case can.isTrue || can.isError:
			m.applies = false
			open.forbids = append(open.forbids, condition)
		}
	}
	if denied || len(open.permits) == 0 || certain && len(open.forbids) == 0 || e.item.Template {
		return
	}
	if !d.set.canAllow(&open) {
		for i := range found {
			found[i].applies = false
		}
	}
}

// dependsOnUnknown reports whether the conditions use the arguments, or the URI of a template.
func (r *rule) dependsOnUnknown(e *environment) bool {
	return len(r.mentions.uses) > 0 || e.item.Template && r.mentions.uri
}

// residue holds the reduced conditions on the arguments.
type residue struct {
	permits, forbids []ast.IsNode
	incomplete       bool // not all conditions are known
}

func (o *residue) key() (key []byte) {
	for _, n := range o.permits {
		key = append(append(key, "permit "...), source(n)...)
	}
	for _, n := range o.forbids {
		key = append(append(key, "forbid "...), source(n)...)
	}
	return key
}

// canAllow reports whether some arguments satisfy a permit and no forbid. If it cannot find out, it returns true.
func (s *Set) canAllow(o *residue) bool {
	key := o.key()
	result, ok := s.satisfiable.find(key)
	if !ok {
		result = o.search()
		s.satisfiable.store(key, result)
	}
	return result
}

// search tries arguments that stand for all others: the values that the conditions compare with, values beside them,
// absent members, and a fresh text.
func (o *residue) search() bool {
	root := newSample()
	for _, n := range o.permits {
		root.collect(n)
	}
	for _, n := range o.forbids {
		root.collect(n)
	}
	permits, forbids := rulesOf(o.permits), rulesOf(o.forbids)
	trials := 0
	for candidate := range root.records() {
		if trials++; trials > maxTrials {
			return true
		}
		request := cedar.Request{Context: types.NewRecord(types.RecordMap{"args": candidate})}
		if anyRule(permits, request, false) && !anyRule(forbids, request, true) {
			return true
		}
	}
	return root.incomplete()
}

func rulesOf(conditions []ast.IsNode) []*cedar.Policy {
	policies := make([]*cedar.Policy, len(conditions))
	for i, n := range conditions {
		policies[i] = compiled([]ast.ConditionType{{Condition: ast.ConditionWhen, Body: n}})
	}
	return policies
}

// anyRule reports whether a policy applies. failing says whether a policy applies that cannot be evaluated.
func anyRule(policies []*cedar.Policy, request cedar.Request, failing bool) bool {
	all := sequence(func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		for _, p := range policies {
			if !yield("", p) {
				return
			}
		}
	})
	result, diagnostic := cedar.Authorize(all, nil, request)
	return result == cedar.Allow || failing && len(diagnostic.Errors) > 0
}

var _ cedar.PolicyIterator = sequence(iter.Seq2[cedar.PolicyID, *cedar.Policy](nil))
