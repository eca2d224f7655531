// Package audit writes one record for each request of a caller, in a file of JSON Lines that shows changes.
//
// Call [Open], then [Log.Append] for each request before it is answered: each answered request then has its record,
// also if the process is killed. [Read] returns records, and [Verify] checks that none was altered, removed or moved.
//
// # The file
//
// A line is one JSON object in the form of RFC 8785, without white space. It has the members of the audit record
// contract (SEP-3004): event_id, occurred_at, principal_id, event_type, tool_name, outcome, extensions, previous_hash
// and event_hash. The extension "indus" has the rest, and the number of the record, seq. The event_hash is the SHA-256
// of the object without this member, in hex. The previous_hash is the event_hash of the record before, and null in the
// first record.
//
// A file that is too large or too old is renamed: audit.jsonl becomes audit-20261124T150405.123Z.jsonl. The chain goes
// on in the new file. A file beside the log, audit.jsonl.lock, names the process that writes, and an end of the log.
//
// # Concurrency
//
// Any goroutine may call the methods of a [Log]. Records of concurrent callers are written together. One process writes
// a log; any number of processes read it meanwhile.
//
// # Faults
//
// If a record cannot be written, [Options.OnFull] decides. The number of lost records is written as soon as that is
// possible, in a record of the type [TypeGap]. A file that another program removed or changed is found at the first
// Append a second after the last check.
package audit
