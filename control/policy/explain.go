package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// Reason says why a rule did not apply, or would not.
type Reason struct {
	Rule
	// Missing are the differences: parts of the scope, and conditions that are false or cannot be evaluated.
	Missing []string `json:"missing"`
}

// Explanation is a verdict with the rules that came closest to another one.
type Explanation struct {
	Verdict
	// Near are the permits of the action that do not apply, with the fewest differences first. It is empty if the
	// request is allowed, or if a forbid decided.
	Near []Reason `json:"near,omitempty"`
}

// maxNear limits the permits of an explanation.
const maxNear = 5

// Explain decides as Decide does, and explains a denial.
func (s *Set) Explain(r *Request) Explanation {
	explanation := Explanation{Verdict: s.Decide(r)}
	if explanation.Allowed || len(explanation.Rules) > 0 || s.byAction[r.Action] == nil {
		return explanation
	}
	action := r.Action
	if other, ok := listedBy[r.Item.Kind]; ok && action == List {
		action = other
	}
	d := decision{set: s, request: r}
	for _, of := range s.byAction[action].all {
		if !of.permit {
			continue
		}
		reason := Reason{Rule: of.Rule, Missing: d.missing(newEnvironment(r, action), of, action)}
		if len(reason.Missing) > 0 {
			explanation.Near = append(explanation.Near, reason)
		}
	}
	slices.SortStableFunc(explanation.Near, func(a, b Reason) int { return len(a.Missing) - len(b.Missing) })
	explanation.Near = explanation.Near[:min(len(explanation.Near), maxNear)]
	return explanation
}

// missing returns the parts of a rule that a request does not satisfy.
func (d *decision) missing(e *environment, r *rule, action Action) (missing []string) {
	if !r.coversPrincipal(e) {
		missing = append(missing, fmt.Sprintf("the principal is %s: the rule requires %s", e.principal,
			r.principal.text("principal")))
	}
	if r.coversResource(e) == isFalse {
		missing = append(missing, fmt.Sprintf("the resource is %s: the rule requires %s", e.resource,
			r.resource.text("resource")))
	}
	for _, c := range r.ast.Conditions {
		if text := d.falsePart(e, r, action, bodyOf(c)); text != "" {
			missing = append(missing, text)
		}
	}
	return missing
}

// falsePart returns the first part of a condition that is false or fails, or "".
func (d *decision) falsePart(e *environment, r *rule, action Action, n ast.IsNode) string {
	if and, ok := n.(ast.NodeTypeAnd); ok {
		if text := d.falsePart(e, r, action, and.Left); text != "" {
			return text
		}
		return d.falsePart(e, r, action, and.Right)
	}
	part := *r
	condition := []ast.ConditionType{{Condition: ast.ConditionWhen, Body: n}}
	whole := *r.ast
	whole.Conditions = condition
	part.ast, part.conditions, part.mentions = &whole, compiled(condition), newMentions()
	part.mentions.add(n)
	found := []matched{{rule: &part, scope: isTrue}}
	problem := d.conditions(e, action, found, d.request.AnyArguments || d.request.Action == List)
	switch {
	case problem != "":
		return problem
	case found[0].problem != "":
		return fmt.Sprintf("the condition %s cannot be evaluated: %s", source(n), found[0].problem)
	case !found[0].applies:
		return fmt.Sprintf("the condition %s is false", source(n)) + d.values(e, n)
	}
	return ""
}

// values returns the values of the attributes in a condition, apart from the arguments.
func (d *decision) values(e *environment, n ast.IsNode) string {
	var values []string
	ast.Inspect(ast.NewNode(n), func(n ast.IsNode) bool {
		access, ok := n.(ast.NodeTypeAccess)
		if !ok {
			return true
		}
		if isDynamic(n) {
			return false
		}
		var record types.Record
		switch variable(access.Arg) {
		case "context":
			record = e.request.Context
		case "principal":
			entity, _ := e.Get(e.principal)
			record = entity.Attributes
		case "resource":
			entity, _ := e.Get(e.resource)
			record = entity.Attributes
		}
		if v, ok := record.Get(access.Value); ok {
			values = append(values, fmt.Sprintf("%s is %s", source(n), v.MarshalCedar()))
		}
		return true
	})
	if len(values) == 0 {
		return ""
	}
	slices.Sort(values)
	return " (" + strings.Join(slices.Compact(values), ", ") + ")"
}

var _ cedar.EntityGetter = (*environment)(nil)
