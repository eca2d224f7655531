// Package schema shapes the JSON Schema of a tool's input before a model sees it, and says whether a schema is fit to be
// handled at all. It works on bytes: the order of keys and the digits of numbers are the owner's, and stay so.
//
// A schema from a stranger goes through [Measure] first, which says whether it keeps within bounds and is JSON. What is
// then shown to a model is a [Profile]'s choice: [Original] leaves the schema as its owner wrote it, [Seed] applies
// [Normalize], which keeps the small subset that the first editions of this bridge sent to every provider.
//
//	if err := schema.Measure(raw, schema.Limits{}); err != nil {
//		return err // the tool is quarantined, and err is the reason
//	}
//	parameters := schema.Seed.Apply(raw)
//
// # Normalization
//
// [Normalize] is total and pure: any bytes give a schema, the same bytes give the same schema, and a schema that is
// normalised already comes back unchanged. Only a node's type decides what happens to it, and only properties and
// additionalProperties of an object and items of an array are entered. All else is passed on or dropped whole, by its
// bytes; that includes items of an object, properties of a string, and everything inside anyOf or enum.
//
// # Bounds
//
// No function here recurses deeper than 1,000 levels or takes more than linear time, whatever the input. JSON that nests
// deeper than 10,000 levels, where encoding/json stops too, is malformed to Normalize and too deep to Measure under any
// limits. JSON that is not UTF-8 is malformed (RFC 8259, section 8.1). A result of Normalize can be longer than its input, because each value that stands where a
// schema belongs and is none is replaced by the 33 bytes of one.
//
// # Concurrency
//
// Every function and method may be called by any number of goroutines at once. None changes its input or keeps it;
// [Profile.Apply] says whose bytes it returns. Profiles are immutable.
//
// # Errors
//
// Only Measure has any: a [*LimitError], or an error that is [ErrMalformed]. Both are one line and safe to print.
package schema
