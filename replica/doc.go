// Package replica lets several processes serve the same clients behind any load balancer. State that a client refers
// to, such as a session or a waiting call, is held by one replica, and its sealed id names that replica. A replica that
// receives a request for state of another one forwards the request there, in one hop, as raw bytes. Nothing is shared
// but keys.
//
//	r, err := replica.New(&replica.Options{
//		Name: "a", Credentials: replica.KeyFile("peer.keys"),
//		Peers: []replica.Peer{{Name: "b", Address: "10.0.0.2:7333"}},
//	})
//	// host.Options.Replica = r, and for the other replicas:
//	server.Handler = r.Handler(handler)
//	err = server.Serve(r.Listener(l))
//
// # Trust
//
// Replicas have a listener of their own, which accepts only TLS 1.3, and both sides prove that they hold a key of
// [KeyFile]: from each key an Ed25519 key is derived (HKDF-SHA256), and its certificate is the only accepted one. TLS
// binds the proof to the connection, so that it cannot be replayed or relayed. [TLSDir] uses ordinary mutual TLS
// instead: then every holder of a certificate of that authority is a replica. A replica is trusted with the principal
// of a request. It authenticates its clients before it forwards anything.
//
// # A request is never repeated
//
// The owner first receives only the header of a request. The body follows after the owner has begun to read it
// (Expect: 100-continue). So a request that fails before that did not run, which is [ErrGone]. After that, it may have
// run, which is [Lost]. A request that was forwarded is not forwarded again, and names the replica that it is for.
//
// While requests take long, their owner is asked every five seconds whether it answers. After 15 seconds without an
// answer, they are lost.
//
// # Services
//
// [Replica.Do] sends a request of a replica itself to a service that one of the replicas runs, such as a server that
// may run once ([Options].Services). It has the same promises.
//
// # Concurrency
//
// All methods may be called from any goroutine.
package replica
