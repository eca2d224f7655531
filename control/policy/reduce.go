package policy

import (
	"slices"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"
)

// reducer evaluates the known parts of conditions. The arguments are unknown, and the URI of a template.
type reducer struct {
	env     eval.Env
	unknown []string // attributes of the resource that are unknown: parts of a URI
}

// reduce returns a condition in which all parts are evaluated that depend on no unknown value. The result is a value,
// an error, or a condition on the unknown values. The result has the same outcome as the condition for all of them.
func (r *reducer) reduce(n ast.IsNode) ast.IsNode {
	if !r.dependsOnUnknown(n) {
		v, err := eval.Eval(n, r.env)
		if err != nil {
			return eval.PartialError(err)
		}
		return ast.NodeValue{Value: v}
	}
	switch v := n.(type) {
	case ast.NodeTypeAnd, ast.NodeTypeOr:
		_, isOr := n.(ast.NodeTypeOr)
		operands := operandsOf(n)
		left := r.reduce(operands.Left)
		if b, ok := booleanOf(left); ok && bool(b) != isOr {
			return r.condition(operands.Right)
		} else if ok || isError(left) {
			return left
		}
		operands = ast.BinaryNode{Left: left, Right: r.reduce(operands.Right)}
		if isOr {
			return ast.NodeTypeOr{BinaryNode: operands}
		}
		return ast.NodeTypeAnd{BinaryNode: operands}
	case ast.NodeTypeIfThenElse:
		test := r.reduce(v.If)
		if b, ok := booleanOf(test); ok && bool(b) {
			return r.reduce(v.Then)
		} else if ok {
			return r.reduce(v.Else)
		} else if isError(test) {
			return test
		}
		return ast.NodeTypeIfThenElse{If: test, Then: r.reduce(v.Then), Else: r.reduce(v.Else)}
	}
	var failed ast.IsNode
	reduced := mapChildren(n, func(child ast.IsNode) ast.IsNode {
		child = r.reduce(child)
		if failed == nil && isError(child) {
			failed = child
		}
		return child
	})
	if failed != nil {
		return failed // every operator but the three above evaluates all its operands
	}
	if !r.dependsOnUnknown(reduced) {
		return r.reduce(reduced)
	}
	return reduced
}

// condition reduces the right side of && or ||. It must be a Boolean.
func (r *reducer) condition(n ast.IsNode) ast.IsNode {
	reduced := r.reduce(n)
	if v, ok := reduced.(ast.NodeValue); ok {
		if _, isBool := v.Value.(types.Boolean); !isBool {
			return eval.PartialError(eval.ErrType)
		}
		return reduced
	}
	if isError(reduced) {
		return reduced
	}
	// The left side was neutral. It still requires that the right side is a Boolean.
	return ast.NodeTypeAnd{BinaryNode: ast.BinaryNode{Left: ast.NodeValue{Value: types.True}, Right: reduced}}
}

// dependsOnUnknown reports whether the value of an expression depends on an unknown value.
func (r *reducer) dependsOnUnknown(n ast.IsNode) bool {
	found := false
	ast.Inspect(ast.NewNode(n), func(n ast.IsNode) bool {
		if found {
			return false
		}
		switch v := n.(type) {
		case ast.NodeTypeAccess:
			return r.attribute(v.Arg, string(v.Value), v.Value == "args", &found)
		case ast.NodeTypeHas:
			return r.attribute(v.Arg, string(v.Value), false, &found)
		case ast.NodeTypeIs:
			return variable(v.Left) == ""
		case ast.NodeTypeIn:
			entities, ok := entitiesOf(v.Right)
			return !ok || variable(v.Left) != "resource" || slices.ContainsFunc(entities, isResource)
		case ast.NodeTypeVariable:
			found = v.Name == "context" || v.Name == "resource" && r.unknown != nil
		}
		return true
	})
	return found
}

// attribute sets found if an attribute of a variable is unknown. It reports whether the owner is not a variable.
func (r *reducer) attribute(of ast.IsNode, name string, isArgs bool, found *bool) bool {
	switch variable(of) {
	case "context":
		*found = isArgs
		return false
	case "resource":
		*found = slices.Contains(r.unknown, name)
		return false
	}
	return true
}

func booleanOf(n ast.IsNode) (types.Boolean, bool) {
	v, ok := n.(ast.NodeValue)
	if !ok {
		return false, false
	}
	b, ok := v.Value.(types.Boolean)
	return b, ok
}

func isError(n ast.IsNode) bool {
	_, ok := eval.ToPartialError(n)
	return ok
}

// outcomes are the results that a reduced condition can have.
type outcomes struct{ isTrue, isFalse, isError bool }

func outcomesOf(n ast.IsNode) outcomes {
	switch v := n.(type) {
	case ast.NodeValue:
		b, ok := v.Value.(types.Boolean)
		return outcomes{isTrue: ok && bool(b), isFalse: ok && !bool(b), isError: !ok}
	case ast.NodeTypeAnd:
		l, r := outcomesOf(v.Left), outcomesOf(v.Right)
		return outcomes{l.isTrue && r.isTrue, l.isFalse || l.isTrue && r.isFalse, l.isError || l.isTrue && r.isError}
	case ast.NodeTypeOr:
		l, r := outcomesOf(v.Left), outcomesOf(v.Right)
		return outcomes{l.isTrue || l.isFalse && r.isTrue, l.isFalse && r.isFalse, l.isError || l.isFalse && r.isError}
	case ast.NodeTypeNot:
		o := outcomesOf(v.Arg)
		return outcomes{o.isFalse, o.isTrue, o.isError}
	}
	if isError(n) {
		return outcomes{isError: true}
	}
	return outcomes{true, true, true}
}

// reduceRule reduces all conditions of a rule to one.
func (r *reducer) reduceRule(of *rule) ast.IsNode {
	all := ast.IsNode(ast.NodeValue{Value: types.True})
	for _, c := range of.ast.Conditions {
		all = ast.NodeTypeAnd{BinaryNode: ast.BinaryNode{Left: all, Right: bodyOf(c)}}
	}
	return r.reduce(all)
}
