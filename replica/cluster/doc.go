// Package cluster holds state that several processes share. An engine that exists already keeps it: package
// cluster/nats connects to NATS JetStream.
//
//	engine, err := nats.Connect(ctx, &nats.Options{Servers: "nats://127.0.0.1:4222"})
//	members, err := cluster.Join(ctx, engine, "a", cluster.Member{Address: "10.0.0.1:7333"}, 10*time.Second, nil)
//	keys, err := cluster.OpenDocument(ctx, engine, "keys")
//
// An [Engine] has a [KV] with compare-and-set, expiry and watch, an append-only [Log], and a [Bus]. A [Lease],
// [Members] and a [Document] use nothing but a KV, so they behave alike with every engine. An engine never carries
// calls.
//
// # Faults
//
// While the engine cannot be reached, each step fails within seconds with an error that wraps [ErrUnavailable]. The
// step may have been done nevertheless. A step with a revision can therefore be repeated only after the key was read
// again. [Document.Read] and [Members.Address] return the last known state.
//
// # Leases
//
// No two clocks are compared. The holder of a lease counts its time from the moment before it sent the renewal, so for
// the holder it ends before the engine lets it expire. A process that was paused finds its lease lost before it does
// anything else with it ([Lease.Held]), and writes of an earlier holder fail, because their revision is old.
//
// # Concurrency
//
// All methods may be called from any goroutine. The functions that are passed to Watch and Subscribe are called one at
// a time, and must not block.
package cluster
