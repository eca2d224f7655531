package policy

import (
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	cedarast "github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// mapChildren returns a copy of a node whose children are the results of edit, in the order of evaluation.
func mapChildren(n ast.IsNode, edit func(ast.IsNode) ast.IsNode) ast.IsNode {
	binary := func(b ast.BinaryNode) ast.BinaryNode {
		left := edit(b.Left)
		return ast.BinaryNode{Left: left, Right: edit(b.Right)}
	}
	unary := func(u ast.UnaryNode) ast.UnaryNode { return ast.UnaryNode{Arg: edit(u.Arg)} }
	named := func(s ast.StrOpNode) ast.StrOpNode { return ast.StrOpNode{Arg: edit(s.Arg), Value: s.Value} }
	switch v := n.(type) {
	case ast.NodeTypeIfThenElse:
		test := edit(v.If)
		then := edit(v.Then)
		return ast.NodeTypeIfThenElse{If: test, Then: then, Else: edit(v.Else)}
	case ast.NodeTypeOr:
		return ast.NodeTypeOr{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeAnd:
		return ast.NodeTypeAnd{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeLessThan:
		return ast.NodeTypeLessThan{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeLessThanOrEqual:
		return ast.NodeTypeLessThanOrEqual{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeGreaterThan:
		return ast.NodeTypeGreaterThan{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeGreaterThanOrEqual:
		return ast.NodeTypeGreaterThanOrEqual{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeEquals:
		return ast.NodeTypeEquals{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeNotEquals:
		return ast.NodeTypeNotEquals{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeIn:
		return ast.NodeTypeIn{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeHasTag:
		return ast.NodeTypeHasTag{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeGetTag:
		return ast.NodeTypeGetTag{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeSub:
		return ast.NodeTypeSub{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeAdd:
		return ast.NodeTypeAdd{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeMult:
		return ast.NodeTypeMult{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeContains:
		return ast.NodeTypeContains{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeContainsAll:
		return ast.NodeTypeContainsAll{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeContainsAny:
		return ast.NodeTypeContainsAny{BinaryNode: binary(v.BinaryNode)}
	case ast.NodeTypeIsEmpty:
		return ast.NodeTypeIsEmpty{UnaryNode: unary(v.UnaryNode)}
	case ast.NodeTypeNegate:
		return ast.NodeTypeNegate{UnaryNode: unary(v.UnaryNode)}
	case ast.NodeTypeNot:
		return ast.NodeTypeNot{UnaryNode: unary(v.UnaryNode)}
	case ast.NodeTypeHas:
		return ast.NodeTypeHas{StrOpNode: named(v.StrOpNode)}
	case ast.NodeTypeAccess:
		return ast.NodeTypeAccess{StrOpNode: named(v.StrOpNode)}
	case ast.NodeTypeLike:
		return ast.NodeTypeLike{Arg: edit(v.Arg), Value: v.Value}
	case ast.NodeTypeIs:
		return ast.NodeTypeIs{Left: edit(v.Left), EntityType: v.EntityType}
	case ast.NodeTypeIsIn:
		left := edit(v.Left)
		return ast.NodeTypeIsIn{NodeTypeIs: ast.NodeTypeIs{Left: left, EntityType: v.EntityType}, Entity: edit(v.Entity)}
	case ast.NodeTypeExtensionCall:
		return ast.NodeTypeExtensionCall{Name: v.Name, Args: mapNodes(v.Args, edit)}
	case ast.NodeTypeSet:
		return ast.NodeTypeSet{Elements: mapNodes(v.Elements, edit)}
	case ast.NodeTypeRecord:
		elements := slices.Clone(v.Elements)
		for i := range elements {
			elements[i].Value = edit(elements[i].Value)
		}
		return ast.NodeTypeRecord{Elements: elements}
	}
	return n // a value or a variable
}

func mapNodes(nodes []ast.IsNode, edit func(ast.IsNode) ast.IsNode) []ast.IsNode {
	mapped := make([]ast.IsNode, len(nodes))
	for i, n := range nodes {
		mapped[i] = edit(n)
	}
	return mapped
}

// anyNode reports whether a node or one below it satisfies test.
func anyNode(n ast.IsNode, test func(ast.IsNode) bool) bool {
	found := false
	ast.Inspect(ast.NewNode(n), func(n ast.IsNode) bool {
		found = found || test(n)
		return !found
	})
	return found
}

// variable returns the name of a variable, or "".
func variable(n ast.IsNode) string {
	if v, ok := n.(ast.NodeTypeVariable); ok {
		return string(v.Name)
	}
	return ""
}

// literalOf returns the value of a literal, or nil. A set of literals is a literal too.
func literalOf(n ast.IsNode) cedar.Value {
	switch v := n.(type) {
	case ast.NodeValue:
		return v.Value
	case ast.NodeTypeSet:
		values := make([]cedar.Value, len(v.Elements))
		for i, e := range v.Elements {
			if values[i] = literalOf(e); values[i] == nil {
				return nil
			}
		}
		return cedar.NewSet(values...)
	}
	return nil
}

// compiled returns a policy without scope that has one condition, to be evaluated by Cedar.
func compiled(conditions []ast.ConditionType) *cedar.Policy {
	p := ast.Permit()
	p.Conditions = conditions
	return cedar.NewPolicyFromAST((*cedarast.Policy)(p))
}

// source returns an expression as Cedar text.
func source(n ast.IsNode) string {
	text := string(compiled([]ast.ConditionType{{Condition: ast.ConditionWhen, Body: n}}).MarshalCedar())
	_, text, _ = strings.Cut(text, "when {")
	text, _, _ = cutLast(text, "}")
	return strings.TrimSpace(text)
}

// policyText returns a policy as Cedar text.
func policyText(p *ast.Policy) string {
	return string(cedar.NewPolicyFromAST((*cedarast.Policy)(p)).MarshalCedar())
}
