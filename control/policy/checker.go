package policy

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"
	"github.com/indusagi/indus/internal/text"
)

//go:embed indus.cedarschema
var schemaText string

// checker checks rules against the schema. Cedar's validator knows no type for JSON, so that the checker first replaces
// each use of context.args by an expression of the type that its place requires. The expression still has context.args,
// which is an error for an action without arguments.
type checker struct {
	validator *validate.Validator
	names     []string // of all attributes
}

// Hidden attributes of the context stand for values of the arguments. No policy can name them: their names are not in
// checker.names.
const (
	anyBool   = "\x00bool"
	anyLong   = "\x00long"
	anyString = "\x00string"
	anySet    = "\x00set"
)

func newChecker() (*checker, error) {
	var s schema.Schema
	s.SetFilename("indus.cedarschema")
	if err := s.UnmarshalCedar([]byte(schemaText)); err != nil {
		return nil, err
	}
	r, err := s.Resolve()
	if err != nil {
		return nil, err
	}
	c := &checker{}
	for _, entity := range r.Entities {
		c.addNames(entity.Shape)
	}
	for uid, action := range r.Actions {
		c.addNames(action.AppliesTo.Context)
		hidden := resolved.RecordType{
			anyBool: {Type: resolved.BoolType{}}, anyLong: {Type: resolved.LongType{}}, anyString: {Type: resolved.StringType{}},
			anySet: {Type: resolved.SetType{Element: resolved.StringType{}}},
		}
		maps.Copy(hidden, action.AppliesTo.Context)
		action.AppliesTo.Context = hidden
		r.Actions[uid] = action
	}
	slices.Sort(c.names)
	c.names = slices.Compact(c.names)
	c.validator = validate.New(r)
	return c, nil
}

func (c *checker) addNames(record resolved.RecordType) {
	for name, attribute := range record {
		c.names = append(c.names, string(name))
		if inner, ok := attribute.Type.(resolved.RecordType); ok {
			c.addNames(inner)
		}
	}
}

// rule returns the problems of a rule.
func (c *checker) rule(r *rule, where excerpt) []error {
	var problems []error
	p := *r.ast
	p.Conditions = slices.Clone(p.Conditions)
	t := &typing{}
	for i := range p.Conditions {
		problems = append(problems, c.unknownNames(p.Conditions[i].Body, where)...)
		p.Conditions[i].Body = t.rewrite(p.Conditions[i].Body, anyBool)
	}
	for _, problem := range t.problems {
		problems = append(problems, where.problem("", "args", problem))
	}
	if len(problems) > 0 {
		return problems
	}
	for _, message := range sentences(errorsOf(c.validator.Policy("", &p))) {
		problems = append(problems, where.problem("", subject(message), strings.ReplaceAll(message, "`", `"`)))
	}
	return problems
}

// repeatedError matches an error of Cedar's validator about one type of resource, or about the context of one action.
var repeatedError = text.Pattern("(?s)^.*?(attribute `.*?` (?:on entity type|in context for)) (.+?)( not found)?$")

// sentences returns the errors of Cedar's validator, sorted. The validator checks a rule for each action and type of
// resource in random order. Errors that differ only in the action or type become one.
func sentences(errs []error) (all []string) {
	places := map[[2]string][]string{} // the actions and types, by the text before and after them
	for _, err := range errs {
		sentence, place := [2]string{err.Error()}, ""
		if parts := repeatedError().FindStringSubmatch(err.Error()); parts != nil {
			sentence = [2]string{parts[1] + " ", " may be absent: test it with has first"}
			if place = parts[2]; parts[3] != "" {
				sentence[1] = " not found: limit the rule to actions and resources that have it"
			}
		}
		places[sentence] = append(places[sentence], place)
	}
	if len(places) > 1 { // the others are the reason for this one
		delete(places, [2]string{"unable to find an applicable action given the policy scope constraints"})
	}
	for sentence, at := range places {
		slices.Sort(at)
		all = append(all, sentence[0]+strings.Join(slices.Compact(at), ", ")+sentence[1])
	}
	slices.Sort(all)
	return all
}

// errorsOf returns the errors that errors.Join joined.
func errorsOf(err error) []error {
	if err == nil {
		return nil
	}
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range list.Unwrap() {
			all = append(all, errorsOf(e)...)
		}
		return all
	}
	return []error{err}
}

// quotedName matches the first name in an error of Cedar's validator.
var quotedName = text.Pattern("`([^`]+)`")

// subject returns the token that an error of Cedar's validator is about, or "".
func subject(message string) string {
	name := quotedName().FindStringSubmatch(message)
	if name == nil {
		return ""
	}
	last := name[1][strings.LastIndexAny(name[1], ".:")+1:]
	return strings.Trim(last, `"`)
}

// unknownNames returns a problem for each attribute that the schema does not have. Cedar's validator accepts such an
// attribute after has, and behind a condition that is always false.
func (c *checker) unknownNames(n ast.IsNode, where excerpt) (problems []error) {
	ast.Inspect(ast.NewNode(n), func(n ast.IsNode) bool {
		if isDynamic(n) {
			return false
		}
		owner, name := memberOf(n)
		if owner == nil {
			return true
		}
		if isDynamic(owner) {
			return false
		}
		if !slices.Contains(c.names, name) {
			problem := fmt.Sprintf("no entity and no context has an attribute %q", name)
			if near := text.Nearest(name, c.names, 1); len(near) > 0 {
				problem += fmt.Sprintf(": did you mean %q?", near[0])
			}
			problems = append(problems, where.problem("", name, problem))
		}
		return true
	})
	return problems
}

// isDynamic reports whether the value of an expression is a part of the arguments, or contains one.
func isDynamic(n ast.IsNode) bool {
	switch v := n.(type) {
	case ast.NodeTypeAccess:
		return variable(v.Arg) == "context" && v.Value == "args" || isDynamic(v.Arg)
	case ast.NodeTypeIfThenElse:
		return isDynamic(v.Then) || isDynamic(v.Else)
	case ast.NodeTypeSet:
		return slices.ContainsFunc(v.Elements, isDynamic)
	case ast.NodeTypeRecord:
		return slices.ContainsFunc(v.Elements, func(e ast.RecordElementNode) bool { return isDynamic(e.Value) })
	}
	return false
}

// typing rewrites conditions for Cedar's validator.
type typing struct{ problems []string }

func (t *typing) problem(text string) { t.problems = append(t.problems, text) }

// rewrite returns an expression without parts of the arguments. hidden is the attribute that stands for a value of the
// type that is required here.
func (t *typing) rewrite(n ast.IsNode, hidden string) ast.IsNode {
	if isDynamic(n) {
		return t.either(n, contextAttribute(hidden))
	}
	as := func(hidden string) ast.IsNode {
		return mapChildren(n, func(child ast.IsNode) ast.IsNode { return t.rewrite(child, hidden) })
	}
	switch v := n.(type) {
	case ast.NodeTypeAnd, ast.NodeTypeOr, ast.NodeTypeNot:
		return as(anyBool)
	case ast.NodeTypeIfThenElse:
		return ast.NodeTypeIfThenElse{If: t.rewrite(v.If, anyBool), Then: t.rewrite(v.Then, hidden),
			Else: t.rewrite(v.Else, hidden)}
	case ast.NodeTypeLessThan, ast.NodeTypeLessThanOrEqual, ast.NodeTypeGreaterThan, ast.NodeTypeGreaterThanOrEqual,
		ast.NodeTypeAdd, ast.NodeTypeSub, ast.NodeTypeMult, ast.NodeTypeNegate:
		return as(anyLong)
	case ast.NodeTypeEquals, ast.NodeTypeNotEquals:
		return t.comparison(n, sameAsItself)
	case ast.NodeTypeContains:
		if !isDynamic(v.Left) {
			return t.comparison(n, isEmpty)
		}
		return t.comparison(n, sameAsItself)
	case ast.NodeTypeContainsAll, ast.NodeTypeContainsAny:
		return t.comparison(n, isEmpty)
	case ast.NodeTypeIsEmpty:
		return as(anySet)
	case ast.NodeTypeHas:
		if isDynamic(v.Arg) {
			return t.either(v.Arg, contextAttribute(anyBool))
		}
	case ast.NodeTypeIn, ast.NodeTypeIs, ast.NodeTypeIsIn:
		mapChildren(n, func(child ast.IsNode) ast.IsNode {
			if isDynamic(child) {
				t.problem("a value of context.args is JSON and never an entity: compare it with ==")
			}
			return child
		})
	case ast.NodeTypeExtensionCall:
		return t.extension(v)
	}
	return as(anyString)
}

// contextAttribute returns context.NAME.
func contextAttribute(name string) ast.IsNode {
	return ast.NodeTypeAccess{StrOpNode: ast.StrOpNode{Arg: ast.NodeTypeVariable{Name: "context"},
		Value: types.String(name)}}
}

func sameAsItself(n ast.IsNode) ast.IsNode {
	return ast.NodeTypeEquals{BinaryNode: ast.BinaryNode{Left: n, Right: n}}
}

func isEmpty(n ast.IsNode) ast.IsNode { return ast.NodeTypeIsEmpty{UnaryNode: ast.UnaryNode{Arg: n}} }

// either returns value, behind a test of the parts of the dynamic expression n.
func (t *typing) either(n, value ast.IsNode) ast.IsNode {
	test := contextAttribute(anyBool)
	for _, part := range t.parts(n) {
		test = ast.NodeTypeAnd{BinaryNode: ast.BinaryNode{Left: test, Right: part}}
	}
	return ast.NodeTypeIfThenElse{If: test, Then: value, Else: value}
}

// parts returns tests of the typed parts of a dynamic expression.
func (t *typing) parts(n ast.IsNode) (tests []ast.IsNode) {
	switch v := n.(type) {
	case ast.NodeTypeAccess:
		if variable(v.Arg) == "context" {
			return []ast.IsNode{sameAsItself(n)}
		}
		return t.parts(v.Arg)
	case ast.NodeTypeIfThenElse:
		return slices.Concat([]ast.IsNode{t.rewrite(v.If, anyBool)}, t.parts(v.Then), t.parts(v.Else))
	case ast.NodeTypeSet:
		for _, e := range v.Elements {
			tests = append(tests, t.parts(e)...)
		}
		return tests
	case ast.NodeTypeRecord:
		for _, e := range v.Elements {
			tests = append(tests, t.parts(e.Value)...)
		}
		return tests
	}
	return []ast.IsNode{sameAsItself(t.rewrite(n, anyString))}
}

// comparison rewrites a comparison of a dynamic expression. test returns a test of the other side.
func (t *typing) comparison(n ast.IsNode, test func(ast.IsNode) ast.IsNode) ast.IsNode {
	b := operandsOf(n)
	left, right := isDynamic(b.Left), isDynamic(b.Right)
	switch {
	case left && right:
		return t.either(ast.NodeTypeSet{Elements: []ast.IsNode{b.Left, b.Right}}, contextAttribute(anyBool))
	case left:
		return t.with(b.Left, b.Right, test)
	case right:
		return t.with(b.Right, b.Left, test)
	}
	return mapChildren(n, func(child ast.IsNode) ast.IsNode { return t.rewrite(child, anyString) })
}

func (t *typing) with(dynamic, other ast.IsNode, test func(ast.IsNode) ast.IsNode) ast.IsNode {
	if isEntity(other) {
		t.problem("a value of context.args is JSON and never an entity: compare it with an attribute such as " +
			"principal.name")
	}
	return ast.NodeTypeAnd{BinaryNode: ast.BinaryNode{Left: t.either(dynamic, contextAttribute(anyBool)),
		Right: test(t.rewrite(other, anyString))}}
}

// isEntity reports whether an expression is an entity, or a set of them.
func isEntity(n ast.IsNode) bool {
	if entities, ok := entitiesOf(n); ok && len(entities) > 0 {
		return true
	}
	switch v := n.(type) {
	case ast.NodeTypeVariable:
		return v.Name != "context"
	case ast.NodeTypeAccess:
		return slices.Contains([]types.String{"view", "client", "server"}, v.Value)
	}
	return false
}

var constructors = map[types.Path]string{"ip": "127.0.0.1", "decimal": "0.0", "datetime": "2026-01-01",
	"duration": "1h"}

// extension rewrites a call of a function with dynamic arguments.
func (t *typing) extension(v ast.NodeTypeExtensionCall) ast.IsNode {
	constant := func(name types.Path) ast.IsNode {
		return ast.NodeTypeExtensionCall{Name: name,
			Args: []ast.IsNode{ast.NodeValue{Value: types.String(constructors[name])}}}
	}
	if _, ok := constructors[v.Name]; ok && len(v.Args) == 1 && isDynamic(v.Args[0]) {
		return t.either(v.Args[0], constant(v.Name))
	}
	isDecimal := slices.Contains([]types.Path{"lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual"},
		v.Name)
	return mapChildren(v, func(child ast.IsNode) ast.IsNode {
		if !isDynamic(child) {
			return t.rewrite(child, anyString)
		}
		if !isDecimal {
			t.problem(fmt.Sprintf("a value of context.args has no %s: convert it first, as in ip(context.args.address)",
				v.Name))
		}
		return t.either(child, constant("decimal"))
	})
}
