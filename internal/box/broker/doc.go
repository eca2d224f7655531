// Package broker lets a confined process connect only to the hosts that its row names. Call [New] with the [Rules] of
// the row, start the process with the variables of [Broker.Environ], and call [Broker.Serve] with the listener of its
// seccomp filter.
//
// # How it works
//
// The filter makes connect and listen user notifications. The broker copies the address from the memory of the process
// once, takes the socket with pidfd_getfd, connects it itself, and answers with the result. No notification is
// continued, so the process cannot change an address after it was checked.
//
//   - A name is resolved by the broker: every connection to port 53 goes to its own resolver, which answers only
//     permitted names. The broker remembers their addresses, and connects the socket to them if the port is permitted
//     too. There is no second look-up, so an address cannot change between its check and its use. Addresses that are
//     not public must be in the rules themselves.
//   - A literal address must be in the rules. The process may also connect to a port on which it listens itself.
//   - Programs with a resolver of their own use the proxy of the environment: HTTP, CONNECT and SOCKS5.
//   - Unix stream sockets are connected by a path that the broker opens.
//
// Resolver and proxy share one port of the loopback interface, the gate. It serves a connection only if the
// broker itself has connected the other end.
//
// # What the filter must do
//
// The broker sees only connect and listen. The filter must refuse all sockets but TCP and Unix streams, MSG_FASTOPEN
// and io_uring. It must also refuse the socket options that send packets through other hosts: IP_OPTIONS, IPV6_RTHDR
// and IPV6_2292PKTOPTIONS. If the kernel has it, the flag SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV must be set.
//
// # Concurrency
//
// All methods may be called at the same time. Serve returns when no process with the filter is left, or after Close.
// The function for denials is called by several goroutines, and must not block.
//
// # Faults
//
// A denied connect fails with EACCES. A name that is not permitted does not exist (NXDOMAIN). If the broker is closed,
// connect fails with ENOSYS. Connections that a process has already made to a host are its own, and stay.
package broker
