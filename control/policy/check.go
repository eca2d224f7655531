package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	cedarast "github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"
)

// Finding is a rule that is probably not meant as it is written.
type Finding struct {
	Rule
	Text string `json:"text"`
}

// String returns the finding with its place.
func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text) }

// Check returns rules that have no effect, and forbids that deny more than they seem to.
//
// It finds these:
//
//   - a rule with the same text as another
//   - a permit, if the scope of an unconditional forbid includes its scope
//   - a condition that is never true, or that contradicts another: one attribute is compared with two values, a range
//     is empty, or a condition is required and excluded
//   - a permit of the action list on tools, prompts and resources
//   - a forbid that uses an argument without a test of its presence
//   - a URI, or a part of one, that is not in canonical form
//
// It does not find all rules that can never apply.
//
// The caller must not change the findings, which are found once.
func (s *Set) Check() []Finding {
	s.checked.Do(func() {
		first := map[string]*rule{} // by the text
		for _, r := range s.rules {
			for _, text := range append(s.checkRule(r, first), r.misspelt()...) {
				s.findings = append(s.findings, Finding{r.Rule, text})
			}
		}
	})
	return s.findings
}

// Unnamed returns the permits that name no action, with a text: they do not permit to approve or to administer.
func (s *Set) Unnamed() (out []Finding) {
	for _, r := range s.rules {
		if r.isOpen() {
			out = append(out, Finding{r.Rule, `permits neither Action::"approve" nor Action::"administer": ` +
				"a rule permits them only if it names them"})
		}
	}
	return out
}

func (s *Set) checkRule(r *rule, first map[string]*rule) (texts []string) {
	if other := s.covering(r); other != nil {
		texts = append(texts, fmt.Sprintf("has no effect: the forbid at %s:%d always applies", other.File, other.Line))
	}
	text := r.text()
	if other := first[text]; other != nil {
		texts = append(texts, fmt.Sprintf("repeats the rule at %s:%d", other.File, other.Line))
	} else {
		first[text] = r
	}
	if text := r.contradiction(); text != "" {
		texts = append(texts, "never applies: "+text)
	}
	if _, only := r.ast.Action.(ast.ScopeTypeEq); only && r.permit && r.covers(List) && !r.listsServers() {
		texts = append(texts, `has an effect on servers and views only: a tool, prompt or resource is listed if `+
			`Action::"call", "get" or "read" is permitted`)
	}
	if !r.permit {
		for _, u := range r.unguarded() {
			parent := use{path: u.path[:len(u.path)-1]}
			texts = append(texts, fmt.Sprintf("denies every request without %s: test it with %s has %s first", u, parent,
				u.path[len(u.path)-1]))
		}
	}
	return texts
}

// listsServers reports whether the scope can have a server or a view only.
func (r *rule) listsServers() bool {
	kind := Kind(cmp.Or(r.resource.kind, r.resource.entity.Type))
	return !r.resource.in && (kind == Server || kind == View)
}

// covering returns an unconditional forbid whose scope has the whole scope of a permit, or nil.
func (s *Set) covering(r *rule) *rule {
	if !r.permit {
		return nil
	}
	i := slices.IndexFunc(s.rules, func(o *rule) bool {
		return !o.permit && o.conditions == nil && o.principal.isWider(r.principal) &&
			o.resource.isWider(r.resource) && !slices.ContainsFunc(allActions, func(a Action) bool {
			return r.covers(a) && !o.covers(a)
		})
	})
	if i < 0 {
		return nil
	}
	return s.rules[i]
}

// isWider reports whether a scope surely has everything that another has.
func (s ruleScope) isWider(o ruleScope) bool {
	switch {
	case s == o || s == ruleScope{}:
		return true
	case s == ruleScope{kind: "User"}: // the type of every principal
		return true
	case s.kind != "" && s.kind != o.kind && !(o.isOne() && s.kind == o.entity.Type):
		return false
	case !s.in:
		return s.kind != ""
	}
	return o.entity == s.entity || o.isOne() && inServer(o.entity, s.entity)
}

// inServer reports whether an item is in a server.
func inServer(item, server types.EntityUID) bool {
	return server.Type == "Server" && slices.Contains([]types.EntityType{"Tool", "Prompt", "Resource"}, item.Type) &&
		strings.HasPrefix(string(item.ID), inID.Replace(string(server.ID))+"/")
}

// text returns the rule without its id.
func (r *rule) text() string {
	p := *r.ast
	p.Annotations = slices.DeleteFunc(slices.Clone(p.Annotations),
		func(a ast.AnnotationType) bool { return a.Key == "id" })
	return string(cedar.NewPolicyFromAST((*cedarast.Policy)(&p)).MarshalCedar())
}

// contradiction returns the reason why the conditions are never satisfied, or "".
func (r *rule) contradiction() string {
	var parts []ast.IsNode
	for _, c := range r.ast.Conditions {
		parts = append(parts, conjuncts(bodyOf(c))...)
	}
	if r.principal.isOne() {
		parts = append(parts, equality("principal", r.principal.entity))
	}
	if r.resource.isOne() {
		parts = append(parts, equality("resource", r.resource.entity))
	}
	return contradictionOf(parts)
}

func equality(name types.String, uid types.EntityUID) ast.IsNode {
	return ast.NodeTypeEquals{BinaryNode: ast.BinaryNode{Left: ast.NodeTypeVariable{Name: name},
		Right: ast.NodeValue{Value: uid}}}
}

// conjuncts returns the parts that all have to be true.
func conjuncts(n ast.IsNode) []ast.IsNode {
	switch v := n.(type) {
	case ast.NodeTypeAnd:
		return append(conjuncts(v.Left), conjuncts(v.Right)...)
	case ast.NodeTypeNot:
		switch inner := v.Arg.(type) {
		case ast.NodeTypeNot:
			return conjuncts(inner.Arg)
		case ast.NodeTypeOr:
			return append(conjuncts(negation(inner.Left)), conjuncts(negation(inner.Right))...)
		}
	}
	return []ast.IsNode{n}
}

// bounds are the values that one expression can have.
type bounds struct {
	equal    types.Value
	low, top int64
}

func contradictionOf(parts []ast.IsNode) string {
	texts := map[string]bool{}
	limits := map[string]*bounds{}
	for _, n := range parts {
		if !anyNode(n, func(n ast.IsNode) bool { return variable(n) != "" }) {
			if v, err := eval.Eval(n, eval.Env{Entities: types.EntityMap{}}); err != nil || !types.Boolean(true).Equal(v) {
				return fmt.Sprintf("%s is never true", source(n))
			}
			continue
		}
		texts[source(n)] = true
		left, right, low, top, ok := limitOf(n)
		if !ok {
			continue
		}
		b := limits[source(left)]
		if b == nil {
			b = &bounds{low: math.MinInt64, top: math.MaxInt64}
			limits[source(left)] = b
		}
		if low == top && right != nil {
			if b.equal != nil && !b.equal.Equal(right) {
				return fmt.Sprintf("%s cannot be %s and %s", source(left), b.equal.MarshalCedar(), right.MarshalCedar())
			}
			b.equal = right
		}
		if _, isLong := right.(types.Long); isLong {
			if b.low, b.top = max(b.low, low), min(b.top, top); b.low > b.top {
				return fmt.Sprintf("%s has an empty range", source(left))
			}
		}
	}
	for text := range texts {
		if texts["!("+text+")"] || texts["!"+text] {
			return fmt.Sprintf("%s is required and excluded", text)
		}
	}
	return ""
}

// limitOf returns the range that a comparison with a literal gives its left side. An equality has low == top.
func limitOf(n ast.IsNode) (left ast.IsNode, right types.Value, low, top int64, ok bool) {
	b := operandsOf(n)
	if _, isEqual := n.(ast.NodeTypeEquals); isEqual && literalOf(b.Left) != nil {
		b.Left, b.Right = b.Right, b.Left
	}
	right = literalOf(b.Right)
	long, _ := right.(types.Long)
	value, ok := int64(long), right != nil && literalOf(b.Left) == nil
	switch n.(type) {
	case ast.NodeTypeEquals:
		return b.Left, right, value, value, ok
	case ast.NodeTypeLessThan:
		return b.Left, right, math.MinInt64, max(value, math.MinInt64+1) - 1, ok && value > math.MinInt64+1
	case ast.NodeTypeLessThanOrEqual:
		return b.Left, right, math.MinInt64, value, ok && value > math.MinInt64
	case ast.NodeTypeGreaterThan:
		return b.Left, right, min(value, math.MaxInt64-1) + 1, math.MaxInt64, ok && value < math.MaxInt64-1
	case ast.NodeTypeGreaterThanOrEqual:
		return b.Left, right, value, math.MaxInt64, ok && value < math.MaxInt64
	}
	return nil, nil, 0, 0, false
}

// unguarded returns the arguments that the conditions use without a test of their presence.
func (r *rule) unguarded() (unguarded []use) {
	tested := map[string]bool{}
	for _, u := range r.mentions.uses {
		if u.presence {
			tested[u.String()] = true
		}
	}
	for _, u := range r.mentions.uses {
		if name := u.String(); len(u.path) > 0 && !u.presence && !tested[name] {
			tested[name] = true
			unguarded = append(unguarded, u)
		}
	}
	return unguarded
}
