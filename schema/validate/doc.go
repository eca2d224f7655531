// Package validate checks the arguments of a call against the schema of the tool, and says what is wrong so that a model
// can mend its call.
//
//	v, err := validate.New(inputSchema)
//	if err != nil {
//		return // err says why; nothing is checked, and the server judges for itself
//	}
//	if misfit := (*validate.Error)(nil); errors.As(v.Validate(arguments), &misfit) {
//		fmt.Println(misfit) // /limit: expected integer, got "ten"
//	}
//
// # What is checked
//
// JSON Schema, draft 4 to 2020-12. $schema says which; where it is absent, unknown or wrong the newest draft is taken that
// accepts the schema: a list under items makes it draft 2019-09. Draft 4's boolean exclusiveMinimum is understood in
// every draft. Remote references are never fetched, and a schema that has one is not checked.
//
// Whoever refuses a call that the server would have taken does harm, and whoever lets one pass does none, because the
// server still judges. So what cannot be checked passes: format is an annotation, a pattern that RE2 does not know is
// skipped (with whatever would turn its absence into a refusal: a not, an if or a oneOf around it), nullable is taken as
// OpenAPI means it. [Validator.Notes] says what was skipped.
//
// # Bounds
//
// Schemas come from strangers and arguments from models. Both are measured first: a schema by the default limits of
// package schema, arguments by [MaxDepth], [MaxNodes] and [MaxBytes]. A pair of a value and a schema that references lead
// to is judged once, so that references that fan out cost nothing, and the work is counted: after about a second Validate
// gives up with [ErrUnchecked].
//
// # Why no library
//
// The well-kept one compiles its metaschemas when a program starts (3.3 to 4.9 ms), and knows
// no bounds, so that their work has to be measured before they begin; what they refuse for the schema's sake has to be taken
// out before they see it, and their errors are for developers. What that took was as long as what is here. The official test
// suite and, in the fuzz test, github.com/santhosh-tekuri/jsonschema judge the verdicts.
//
// # Concurrency
//
// A [Validator] is immutable, and any number of goroutines may use it. Nothing here starts one.
//
// # Errors
//
// New's errors say why a schema cannot be used. Validate's are an [*Error], or wrap [ErrUnchecked].
package validate
