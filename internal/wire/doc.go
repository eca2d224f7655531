// Package wire reads and edits JSON-RPC messages as extents of bytes, never
// as decoded values, so that what passes through indus passes through exactly.
//
// Reach for [Scan] first: one pass validates a whole message and says where
// its id, method, params, result and error lie. [Members], [Elements] and
// [Lookup] go one level deeper into such an extent, [Rewrite] changes single
// members of it and keeps every other byte. [Lines] and [Events] cut a stream
// into messages: newline-delimited (stdio) and Server-Sent Events (HTTP).
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
// [Scan], [Valid], [Unquote] and [TooLong.Frame] judge bytes of unknown origin.
// [Members], [Elements], [Lookup] and [Rewrite] trust that their input is
// valid JSON, because it is an extent of something scanned: they find their way
// by quotes and brackets alone. On other bytes they fail or return nonsense,
// but they do not panic and never read outside.
//
// # One message, one reading
//
// Peers differ in what they make of a message that names a key twice, or
// spells it with capitals. Scan refuses such an envelope ([KeyError]), so that
// everyone who reads what was let through reads the same. Below the envelope
// nothing is judged: there [Unique] is for callers who need it.
//
// # Ownership
//
// Extents are sub-slices of what was scanned, their capacity cut to their
// length; they live and change with it. What Lines and Events return is the
// caller's.
//
// # Concurrency
//
// All functions are pure. A Lines or an Events is for one goroutine.
package wire
