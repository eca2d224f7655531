// The command collector is the OTLP receiver of the OpenTelemetry Collector for tests. It is a module of its own,
// because its 120 modules are no concern of users. Package internal/testkit/otlp starts it.
//
//	collector HOST:PORT
//
// It accepts OTLP over HTTP, as JSON and protobuf. It writes the line "ready", and then each request as one line of
// JSON in the collector's form. It ends when stdin ends.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

func main() {
	log.SetPrefix("collector: ")
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: collector HOST:PORT")
	}
	err := run(context.Background(), os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address string) error {
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	err := confmap.NewFromStringMap(map[string]any{
		"protocols": map[string]any{"http": map[string]any{"endpoint": address}},
	}).Unmarshal(config)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	next, err := consumer.NewTraces(func(_ context.Context, traces ptrace.Traces) error {
		line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		_, err = fmt.Printf("%s\n", line)
		return err
	})
	if err != nil {
		return err
	}
	receiver, err := factory.CreateTraces(ctx, receivertest.NewNopSettings(factory.Type()), config, next)
	if err != nil {
		return err
	}
	err = receiver.Start(ctx, componenttest.NewNopHost())
	if err != nil {
		return err
	}
	mu.Lock()
	fmt.Println("ready")
	mu.Unlock()
	_, err = io.Copy(io.Discard, os.Stdin)
	if err != nil {
		return err
	}
	return receiver.Shutdown(ctx)
}
