// Package telemetry sets up the SDK of OpenTelemetry for "indus serve": spans are sent as OTLP/JSON, and metrics are
// served to Prometheus.
//
// [Open] reads the variables of OpenTelemetry (OTEL_*) and the flag --metrics, listens, and returns the instruments of
// [telemetry.Telemetry]. [Provider.Close] sends the last spans within a bounded time.
//
// Two parts are our own, because the official parts are large beside this program: the exporter of OTLP over HTTP adds
// 8.3 MB (it links gRPC), and the exporter for Prometheus adds 2.4 MB (it links protobuf). docs/dependencies.md has the
// figures. Tests check both against the official decoders.
//
// # Concurrency
//
// The methods of Provider may be called from any goroutine.
package telemetry
