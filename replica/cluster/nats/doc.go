// Package nats keeps the shared state of package cluster in NATS JetStream, on external servers of version 2.11 or
// later.
//
//	engine, err := nats.Connect(ctx, &nats.Options{Servers: "nats://a:4222,nats://b:4222"})
//	defer engine.Close()
//
// [Connect] creates the streams, or checks the existing ones: file storage, the number of replicas, and the features
// that indus needs. It reports everything that is missing at once. [Engine.Warnings] are the weaknesses with which it
// works.
//
// A user of NATS needs the subjects $JS.API.>, $KV.NAME.>, NAME.> and its inbox, where NAME is Options.Name.
//
// # Concurrency
//
// All methods may be called from any goroutine.
package nats
