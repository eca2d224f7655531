// Package schema adapts the JSON Schema of a tool's input to the form that a model provider accepts, and finds the
// faults of a schema. It works on bytes: the order of keys and the digits of numbers stay as the owner wrote them.
//
// A model provider refuses a whole request if one tool in it has a bad schema. A [Profile] describes, as data, the
// schemas that one provider accepts. [Adapt] adapts a schema to a profile, and [Check] finds the parts that the
// provider would refuse:
//
//	adapted, err := schema.Adapt(tool.InputSchema, schema.Universal)
//	if err != nil {
//		return err // the tool is not to be shown, and err is the reason
//	}
//	send(adapted.Schema)                  // to a model, which answers with arguments
//	arguments = adapted.Restore(arguments) // for the tool, which knows nothing of the profile
//
// [Universal] contains only forms that all providers accept. Use it if several models are served, or if the model is
// not known. [Original] leaves a schema unchanged. [Seed] applies [Normalize], which keeps the small subset that the
// first editions of this bridge sent to every provider.
//
// # Adapting
//
// Adapt keeps the meaning of a schema wherever the profile can express it. It inlines a reference within the document.
// A recursive reference is kept if the profile accepts it. No reference is ever fetched. Adapt merges allOf,
// writes oneOf as anyOf and const as enum, makes "T or null" an optional T, and infers a missing type. A union at the
// root becomes one object with the properties of its branches.
//
// Constraints that the profile cannot express are added, in short form, to the description and are listed in
// [Adapted.Changes]. Lost names a constraint that a model may now violate. Narrowed names values that a model can no
// longer choose. Arguments that follow an adapted schema follow the original after Restore, except where a change is
// Lost.
//
// Check is written from the providers' rules. It shares with Adapt the profiles and the code that reads schemas, but no
// decision, so that each finds the faults of the other. In the tests, an independent validator and the providers' own
// SDKs check both. The package schema/rule has the types of rules and findings.
//
// # Bounds
//
// Measure and Normalize take linear time and recurse at most 1,000 levels deep, whatever the input. Adapt and Check
// refuse a schema that exceeds the default [Limits]. Adapt also stops if its result would exceed them, which bounds a
// schema whose references lead to one another.
//
// JSON that nests deeper than 10,000 levels, the limit of encoding/json, is malformed for Normalize and too deep for
// Measure under any limits. JSON that is not UTF-8 is malformed (RFC 8259, section 8.1). A result of Normalize can be
// longer than its input, because Normalize replaces each invalid schema by a default schema of 33 bytes.
//
// # Concurrency
//
// Any number of goroutines may call any function or method at once. No function changes its input. Only the result of
// Adapt for [Original] shares memory with the input. Profiles are immutable.
//
// # Errors
//
// Measure and Adapt return errors: a [*LimitError], or an error that is [ErrMalformed]. Adapt also returns errors that
// are [ErrUnsupported]. Each error is one line and safe to print.
package schema
