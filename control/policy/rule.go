package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/indusagi/indus/internal/text"
)

// rule is one policy, prepared for decisions.
type rule struct {
	Rule
	index      int
	ast        *ast.Policy
	permit     bool
	principal  ruleScope
	resource   ruleScope
	conditions *cedar.Policy // the conditions without the scope; nil if there are none
	approve    Approval
	rate       *Rate
	audit      Audit
	mentions   mentions
	id         cedar.PolicyID // the index as a text, for Cedar
	column     int
	original   string // the text in its file
}

func newRule(index int, p *cedar.Policy) (*rule, error) {
	position := p.Position()
	r := &rule{
		Rule:  Rule{File: position.Filename, Line: position.Line, Effect: "forbid"},
		index: index, ast: (*ast.Policy)(p.AST()), permit: p.Effect() == cedar.Permit,
		id: cedar.PolicyID(strconv.Itoa(index)), column: position.Column, mentions: newMentions(),
	}
	if r.permit {
		r.Effect = "permit"
	}
	r.ID = fmt.Sprintf("%s:%d", r.File, r.Line)
	if err := r.annotate(); err != nil {
		return nil, err
	}
	if len(r.ast.Conditions) > 0 {
		r.conditions = compiled(r.ast.Conditions)
	}
	r.principal, r.resource = scopeOf(r.ast.Principal), scopeOf(r.ast.Resource)
	if e := r.principal.entity; e != (types.EntityUID{}) {
		r.mentions.member(string(e.Type), string(e.ID))
	}
	r.mentions.uri = isResource(r.resource.entity)
	for _, c := range r.ast.Conditions {
		r.mentions.add(c.Body)
	}
	return r, nil
}

// annotationError is a bad annotation. name finds its place in the text.
type annotationError struct {
	name, problem string
}

func (e *annotationError) Error() string { return e.problem }

// annotate reads the annotations.
func (r *rule) annotate() error {
	for _, a := range r.ast.Annotations {
		if problem := r.annotation(string(a.Key), string(a.Value)); problem != "" {
			return &annotationError{string(a.Key), problem}
		}
	}
	return nil
}

func (r *rule) annotation(name, value string) (problem string) {
	switch name {
	case "id":
		if r.ID = value; value == "" {
			return `@id needs a name, such as @id("reviewers")`
		}
	case "approve":
		r.approve = Approval(value)
		if !slices.Contains([]Approval{CallerApproves, OtherApproves, EitherApproves}, r.approve) {
			return fmt.Sprintf(`@approve(%q) is unknown: use "caller", "other" or "either"`, value)
		}
	case "rate":
		rate, err := parseRate(value)
		if err != nil {
			return err.Error()
		}
		r.rate = &rate
	case "audit":
		switch value {
		case "arguments":
			r.audit = Audit{Arguments: true}
		case "arguments,result":
			r.audit = Audit{Arguments: true, Result: true}
		default:
			return fmt.Sprintf(`@audit(%q) is unknown: use "arguments" or "arguments,result"`, value)
		}
	default:
		return fmt.Sprintf("@%s is unknown: the annotations are @id, @approve, @rate and @audit", name)
	}
	if !r.permit && (name == "approve" || name == "rate") {
		return fmt.Sprintf("@%s has no effect on a forbid: put it on a permit", name)
	}
	return ""
}

var rateSyntax = text.Pattern(`^([1-9][0-9]{0,8})/([1-9][0-9]{0,3})?(s|m|h|d)$`)

var rateUnits = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

func parseRate(text string) (Rate, error) {
	parts := rateSyntax().FindStringSubmatch(text)
	if parts == nil {
		return Rate{}, fmt.Errorf(`@rate(%q) is not a rate: use "30/m", "5/10s", "100/h" or "1000/d"`, text)
	}
	calls, _ := strconv.Atoi(parts[1])
	count := 1
	if parts[2] != "" {
		count, _ = strconv.Atoi(parts[2])
	}
	return Rate{Calls: calls, Per: time.Duration(count) * rateUnits[parts[3]]}, nil
}

// covers reports whether the scope of the rule has an action. No action is a member of another. A permit has the
// actions approve and administer only if its scope names them: they give power over the requests of others.
func (r *rule) covers(action Action) bool {
	uid := types.EntityUID{Type: "Action", ID: types.String(action)}
	switch scope := r.ast.Action.(type) {
	case ast.ScopeTypeEq:
		return scope.Entity == uid
	case ast.ScopeTypeIn:
		return scope.Entity == uid
	case ast.ScopeTypeInSet:
		return slices.Contains(scope.Entities, uid)
	}
	return !r.permit || action != Approve && action != Administer
}

// isOpen reports whether the scope of a permit names no action, and has items that callers approve or administer.
func (r *rule) isOpen() bool {
	kind := Kind(cmp.Or(r.resource.kind, r.resource.entity.Type))
	_, all := r.ast.Action.(ast.ScopeTypeAll)
	return r.permit && all && (r.resource.in || kind != Prompt && kind != Resource)
}

// truth is the result of a test that may depend on unknown values.
type truth int8

const (
	isFalse truth = iota
	isUnknown
	isTrue
)

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// ruleScope is a part of the scope of a rule: the principal or the resource.
type ruleScope struct {
	kind   types.EntityType // the required type; "" means any
	entity types.EntityUID  // the required entity; the zero value means any
	in     bool             // the members of the entity are meant too
}

func scopeOf(n ast.IsScopeNode) ruleScope {
	switch v := n.(type) {
	case ast.ScopeTypeEq:
		return ruleScope{entity: v.Entity}
	case ast.ScopeTypeIn:
		return ruleScope{entity: v.Entity, in: true}
	case ast.ScopeTypeIs:
		return ruleScope{kind: v.Type}
	case ast.ScopeTypeIsIn:
		return ruleScope{v.Type, v.Entity, true}
	}
	return ruleScope{}
}

// isOne reports whether the scope is a single entity.
func (s ruleScope) isOne() bool { return s.entity != types.EntityUID{} && !s.in }

// text returns the scope of a variable as Cedar text.
func (s ruleScope) text(name string) string {
	if s.kind != "" {
		name += " is " + string(s.kind)
	}
	switch {
	case s.in:
		return name + " in " + s.entity.String()
	case s.isOne():
		return name + " == " + s.entity.String()
	}
	return name
}

// coversPrincipal reports whether the scope of the rule has the caller.
func (r *rule) coversPrincipal(e *environment) bool {
	s := &r.principal
	switch {
	case s.kind != "" && s.kind != "User":
		return false
	case s.entity == types.EntityUID{} || s.entity == e.principal:
		return true
	}
	return s.in && s.entity.Type == "Group" && slices.Contains(e.groups, string(s.entity.ID))
}

// coversResource reports whether the scope of the rule has the item. The URI of a template is unknown.
func (r *rule) coversResource(e *environment) truth {
	s := &r.resource
	isMember := e.item.Kind != Server && e.item.Kind != View
	switch {
	case s.kind != "" && s.kind != e.resource.Type:
		return isFalse
	case s.entity == types.EntityUID{}:
		return isTrue
	case s.in && isMember && s.entity.Type == "Server":
		return truthOf(string(s.entity.ID) == e.item.Server)
	case e.item.Template && isResource(s.entity) &&
		strings.HasPrefix(string(s.entity.ID), inID.Replace(e.item.Server)+"/"):
		return isUnknown
	}
	return truthOf(s.entity == e.resource)
}

// entitiesOf returns the entities of a literal entity or set of entities.
func entitiesOf(n ast.IsNode) ([]types.EntityUID, bool) {
	switch v := literalOf(n).(type) {
	case types.EntityUID:
		return []types.EntityUID{v}, true
	case types.Set:
		var entities []types.EntityUID
		for element := range v.All() {
			e, ok := element.(types.EntityUID)
			if !ok {
				return nil, false
			}
			entities = append(entities, e)
		}
		return entities, true
	}
	return nil, false
}

func isResource(e types.EntityUID) bool { return e.Type == "Resource" }
