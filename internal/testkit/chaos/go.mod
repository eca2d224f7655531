module github.com/indusagi/indus/internal/testkit/chaos

go 1.26.0

replace github.com/indusagi/indus => ../../..

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/indusagi/indus v0.0.0-00010101000000-000000000000
)

require (
	github.com/klauspost/compress v1.20.1 // indirect
	github.com/nats-io/nats.go v1.55.0 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
