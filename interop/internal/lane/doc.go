// Package lane decides when a request of a server is sent, and on which of the server's connections.
//
// [Turns] is the queue of a server: a request waits for its turn, and callers take turns. [Habits] records which kinds
// of requests make the server ask its client. [Table] holds the extra connections, and takes one for a request. A
// connection is a [Conn]. The package opens none, and knows neither messages nor options of servers.
//
// # Concurrency
//
// All methods may be called from any goroutine. Methods with a context wait, and the others do not. Each type has one
// lock, and none calls other code with its lock held, except the methods of [Conn] and [Options], which must not wait.
//
// # Errors
//
// A [*BusyError] means that the request was not sent, and may be sent later. [ErrClosed] means that the server is gone.
// Any other error is the error of the context.
package lane
