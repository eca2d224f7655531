// Package validate checks the arguments of a call against the schema of the tool. Its errors describe each fault so
// that a model can correct its call.
//
//	v, err := validate.New(inputSchema)
//	if err != nil {
//		return // err says why; nothing is checked, and the server judges for itself
//	}
//	if misfit := (*validate.Error)(nil); errors.As(v.Validate(arguments), &misfit) {
//		fmt.Println(misfit) // /limit: expected integer, got "ten"
//	}
//
// # Checks
//
// JSON Schema from draft 4 to draft 2020-12 is supported. $schema selects the draft. If it is absent, unknown or wrong,
// the newest draft that accepts the schema is used. For example, a list under items selects draft 2019-09. Draft 4's
// boolean exclusiveMinimum is understood in every draft. Remote references are never fetched, and New refuses a schema
// with one.
//
// Refusing a valid call does harm. Accepting an invalid call does not, because the server still checks it. Therefore,
// keywords that cannot be checked are skipped. format is an annotation. A pattern that RE2 does not know is skipped. A
// not or an if around it is skipped too, and a oneOf around it is checked as anyOf. Otherwise, the missing pattern
// could turn a valid call into an error. nullable has OpenAPI's meaning. [Validator.Notes] lists the skipped keywords.
//
// # Bounds
//
// Schemas and arguments are untrusted, so both are measured first. A schema must be within the default limits of
// package schema. Arguments must be within [MaxDepth], [MaxNodes] and [MaxBytes]. If references lead to a schema, each
// value is checked against it once, so that many references to one schema cost nothing. The work is counted, and after
// about a second Validate stops and returns [ErrUnchecked].
//
// # Why no library
//
// The best-maintained library compiles its metaschemas when a program starts (3.3 to 4.9 ms). Libraries have no bounds,
// so the work must be measured before they start. Keywords that they refuse must be removed from the schema first, and
// their errors are written for developers. The code around a library was as long as this package. The official test
// suite and, in the fuzz test, github.com/santhosh-tekuri/jsonschema verify the results.
//
// # Concurrency
//
// A [Validator] is immutable, and any number of goroutines may use it. This package starts no goroutines.
//
// # Errors
//
// The errors of New give the reason why a schema cannot be used. The errors of Validate are an [*Error], or wrap
// [ErrUnchecked].
package validate
