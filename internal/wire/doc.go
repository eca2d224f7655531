// Package wire reads and edits JSON-RPC messages as extents of bytes. It never decodes values, so
// that indus passes messages on unchanged.
//
// Start with [Scan]: in one pass it validates a whole message and finds its id, method, params,
// result and error. [Members], [Elements] and [Lookup] go one level deeper into such an extent.
// [Rewrite] changes single members of it and keeps every other byte. [Lines] and [Events] split a
// stream into messages: newline-delimited (stdio) and Server-Sent Events (HTTP).
//
//	lines := wire.NewLines(conn, 64<<20)
//	for {
//		line, err := lines.Next()
//		if tooLong, ok := errors.AsType[*wire.TooLong](err); ok {
//			bad := tooLong.Frame() // fail the call bad.ID, go on reading
//			continue
//		} else if err != nil {
//			return err
//		}
//		msg, err := wire.Scan(line)
//		…
//	}
//
// # Two kinds of reader
//
// [Scan], [Valid], [Unquote] and [TooLong.Frame] accept bytes of unknown origin. [Members],
// [Elements], [Lookup] and [Rewrite] trust that their input is valid JSON, because it is an extent
// of a scanned message: they use only its quotes and brackets. On other bytes they fail or return
// nonsense, but they do not panic and never read out of bounds.
//
// # One message, one reading
//
// Peers differ in how they read a message that repeats a key, or spells it with capitals. Scan
// refuses such an envelope ([KeyError]), so that every reader of an accepted message reads the same
// values. Below the envelope keys are not checked. Callers that need such a check use [Unique].
//
// # Ownership
//
// Extents are sub-slices of the scanned bytes, with their capacity cut to their length. They share
// memory with these bytes. The caller owns the results of Lines and Events.
//
// # Concurrency
//
// All functions are pure. Only one goroutine may use a Lines or an Events.
package wire
