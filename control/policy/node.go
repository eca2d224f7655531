package policy

import (
	"reflect"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	cedarast "github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/indusagi/indus/internal/uris"
)

// mapChildren returns a copy of a node whose children are the results of edit, in the order of evaluation. That is the
// order of the fields.
func mapChildren(n ast.IsNode, edit func(ast.IsNode) ast.IsNode) ast.IsNode {
	copied := reflect.New(reflect.TypeOf(n)).Elem()
	copied.Set(reflect.ValueOf(n))
	mapFields(copied, edit)
	return copied.Interface().(ast.IsNode)
}

// mapFields replaces the nodes in the fields of a struct, in its lists and in the structs that it embeds.
func mapFields(v reflect.Value, edit func(ast.IsNode) ast.IsNode) {
	for i := range v.NumField() {
		switch field := v.Field(i).Addr().Interface().(type) {
		case *ast.IsNode:
			*field = edit(*field)
		case *[]ast.IsNode:
			*field = slices.Clone(*field)
			for k, child := range *field {
				(*field)[k] = edit(child)
			}
		case *[]ast.RecordElementNode:
			*field = slices.Clone(*field)
			for k, child := range *field {
				(*field)[k].Value = edit(child.Value)
			}
		default:
			if v.Type().Field(i).Anonymous {
				mapFields(v.Field(i), edit)
			}
		}
	}
}

// memberOf returns the owner and the name of the member that a node reads or tests, or nil.
func memberOf(n ast.IsNode) (owner ast.IsNode, name string) {
	switch v := n.(type) {
	case ast.NodeTypeAccess:
		return v.Arg, string(v.Value)
	case ast.NodeTypeHas:
		return v.Arg, string(v.Value)
	}
	return nil, ""
}

// operandsOf returns the operands of a binary operator.
func operandsOf(n ast.IsNode) (operands ast.BinaryNode) {
	if field := reflect.ValueOf(n).FieldByName("BinaryNode"); field.IsValid() {
		operands = field.Interface().(ast.BinaryNode)
	}
	return operands
}

// negation returns the condition that a condition is false.
func negation(n ast.IsNode) ast.IsNode { return ast.NodeTypeNot{UnaryNode: ast.UnaryNode{Arg: n}} }

// bodyOf returns the condition that must be true for a when or an unless.
func bodyOf(c ast.ConditionType) ast.IsNode {
	if c.Condition == ast.ConditionUnless {
		return negation(c.Body)
	}
	return c.Body
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
	text, _, _ = uris.CutLast(text, "}")
	return strings.TrimSpace(text)
}
