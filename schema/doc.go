// Package schema adapts the JSON Schema of a tool's input to what a model provider accepts, and says whether a schema is one to
// be handled at all. It works on bytes: the order of keys and the digits of numbers are the owner's, and stay so.
//
// One bad tool makes a model provider refuse a whole request. A [Profile] is what one provider accepts, as data; [Adapt]
// adapts a schema to it, and [Check] finds what the provider would refuse:
//
//	adapted, err := schema.Adapt(tool.InputSchema, schema.Universal)
//	if err != nil {
//		return err // the tool is not to be shown, and err is the reason
//	}
//	send(adapted.Schema)                  // to a model, which answers with arguments
//	arguments = adapted.Restore(arguments) // for the tool, which knows nothing of the profile
//
// [Universal] is what all of them accept, and what one takes where several models are served or none is known. [Original]
// leaves a schema as its owner wrote it, and [Seed] applies [Normalize], which keeps the small subset that the first editions
// of this bridge sent to every provider.
//
// # Adapting
//
// Adapt keeps the meaning of a schema wherever the profile can say it. A reference within the document is inlined, or kept
// where it leads back into itself and the profile takes references; none is ever fetched. allOf is merged, oneOf becomes
// anyOf, const becomes enum, T or null becomes an optional T, a missing type is inferred, and a union at the root becomes one
// object with the properties of its branches. What the profile cannot say goes, short, into the description, and is in
// [Adapted.Changes]: Lost is what a model may now get wrong, Narrowed what it cannot ask for any more. Arguments that follow
// an adapted schema follow the original once they are restored, wherever nothing is Lost.
//
// Check is written from the providers' rules. It reads schemas as Adapt does and shares the profiles with it, and no decision,
// so that each finds the other's faults. An independent validator and the providers' own SDKs judge both in the tests.
//
// # Normalization
//
// [Normalize] is total and pure: any bytes give a schema, the same bytes give the same schema, and a schema that is
// normalised already comes back unchanged. Only a node's type decides what happens to it, and only properties and
// additionalProperties of an object and items of an array are entered. All else is passed on or dropped as one, by its
// bytes; that includes items of an object, properties of a string, and everything inside anyOf or enum.
//
// # Bounds
//
// Measure and Normalize take linear time and recurse no deeper than 1,000 levels, whatever the input. Adapt and Check refuse
// what exceeds the default [Limits], and Adapt stops where its result would: a schema of references that lead to one another
// grows no further than that. JSON that nests
// deeper than 10,000 levels, where encoding/json stops too, is malformed to Normalize and too deep to Measure under any
// limits. JSON that is not UTF-8 is malformed (RFC 8259, section 8.1). A result of Normalize can be longer than its input, because each value
// that stands where a schema belongs and is none is replaced by the 33 bytes of one.
//
// # Concurrency
//
// Every function and method may be called by any number of goroutines at once. None changes its input, and only what Adapt
// returns for [Original] keeps it.
// Profiles are immutable.
//
// # Errors
//
// Measure and Adapt have them: a [*LimitError], an error that is [ErrMalformed], and Adapt one that is [ErrUnsupported]. Each is one
// line and safe to print.
package schema
