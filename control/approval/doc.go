// Package approval holds calls that wait for the approval of a person, and the grants that follow.
//
// Begin with [Open], and call [Book.Require] before each call that needs an approval:
//
//	book, err := approval.Open("approvals.jsonl", nil)
//	item, outcome, err := book.Require(ctx, approval.Item{Subject: subject, Way: approval.Other, Shown: arguments}, nil)
//	switch outcome {
//	case approval.Granted: // run the call: the grant is spent now
//	case approval.Denied:  // refuse it: item.By and item.Reason are the decision
//	case approval.Pending: // answer "waits for approval item.ID", or ask the caller and call Decide
//	}
//
// [Book.Decide] is the decision of a person. It depends on the [Way] of the item and on the [Channel] of the decision.
//
// # Binding
//
// A grant is good for one [Subject]: the caller, its client, the view, the server, the tool, the exact bytes of the
// arguments and the definition of the tool. It is also good only for the same [Way], so a stricter policy needs a new
// decision. A grant is used once. It is stored as spent before Require returns. If the process ends before the call
// runs, the grant is lost: a call runs at most once.
//
// # Time
//
// A waiting item expires, and so does a decision: each holds for the Options.Expire of the Book that stored the item.
// The expiry is stored as a time of the system's clock. If the clock is set back by an hour, an item that was stored
// before lives an hour longer. An item that a step of the book found expired is stored as expired, and stays so.
//
// # Bounds
//
// At most 1,000 items are open, and 100 of one principal. An open item waits for a decision, or is an unspent grant. At
// most 8 KiB of the arguments are stored. Past items are kept for 7 days: the last 1,000, and 2 MiB of them.
//
// # Faults
//
// The errors of Decide are [ErrUnknown], [ErrExpired], [ErrDecided], [ErrRequester] and [ErrNotCaller]. Require returns
// a [*LimitError] if too many items are open. If the file cannot be read or written, each step fails and nothing is
// granted.
//
// # Cluster
//
// With Options.Document, the items are in a document of package cluster. Items and denials that are known are found
// without its engine. While the engine cannot be reached, each other step fails at once: no new item is stored and no
// grant is spent. Then Options.Now should be the time of the engine, so that processes agree on what has expired.
//
// # Concurrency
//
// All methods may be called from any goroutine, and on several Books of one file from several processes. Nothing runs
// in the background without a watcher, and nothing needs to be closed.
package approval
