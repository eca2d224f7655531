package telemetry

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	prefix = "OTEL_EXPORTER_OTLP_"
	// localCollector is the endpoint of the specification for a collector on the same machine.
	localCollector = "http://localhost:4318"
	tracesPath     = "v1/traces"
	defaultTimeout = 10 * time.Second
)

// otlpTarget is the receiver of spans.
type otlpTarget struct {
	endpoint *url.URL
	headers  http.Header
	timeout  time.Duration
	gzip     bool
	tls      *tls.Config // nil: the certificates of the system
}

// readTarget reads the variables of the OTLP exporter. It returns nil if no variable asks for spans.
func readTarget() (*otlpTarget, error) {
	wanted, err := spansWanted()
	if err != nil || !wanted {
		return nil, err
	}
	if name, protocol := variable("PROTOCOL"); protocol != "" && protocol != "http/json" {
		return nil, fmt.Errorf("%s=%s: indus sends spans as http/json only; set it to http/json, which collectors accept "+
			"on the port of http/protobuf (4318)", name, protocol)
	}
	t := &otlpTarget{timeout: defaultTimeout}
	for _, read := range []func() error{t.readEndpoint, t.readHeaders, t.readTimeout, t.readCompression, t.readTLS} {
		err := read()
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// spansWanted reports whether OTEL_TRACES_EXPORTER or an endpoint asks for spans. By the specification, spans would go
// to localhost without any variable. Then every program without a collector would report errors.
func spansWanted() (bool, error) {
	_, endpoint := variable("ENDPOINT")
	switch name := os.Getenv("OTEL_TRACES_EXPORTER"); name {
	case "":
		return endpoint != "", nil
	case "otlp":
		return true, nil
	case "none":
		return false, nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER=%s: it is otlp or none", name)
	}
}

// variable returns the name and the value of a variable for traces, or of the variable for all signals.
func variable(name string) (string, string) {
	for _, full := range []string{prefix + "TRACES_" + name, prefix + name} {
		if v := strings.TrimSpace(os.Getenv(full)); v != "" {
			return full, v
		}
	}
	return prefix + name, ""
}

func boolVariable(name string) (bool, error) {
	switch v := strings.ToLower(os.Getenv(name)); v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fmt.Errorf("%s=%s: it is true or false", name, v)
	}
}

// readEndpoint appends the path of traces to the endpoint of all signals. The endpoint for traces is complete.
func (t *otlpTarget) readEndpoint() error {
	name, v := variable("ENDPOINT")
	u, err := url.Parse(cmp.Or(v, localCollector))
	if err != nil {
		return fmt.Errorf("%s: it is no URL; write one such as %s", name, localCollector) // err has the password
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s=%s: it is no http or https URL; write one such as %s", name, u.Redacted(), localCollector)
	}
	if name == prefix+"ENDPOINT" {
		u = u.JoinPath(tracesPath)
	}
	t.endpoint = u
	return nil
}

// readHeaders reads pairs NAME=VALUE between commas, with percent-encoded values. Errors never contain values, because
// they are credentials.
func (t *otlpTarget) readHeaders() error {
	name, v := variable("HEADERS")
	t.headers = http.Header{}
	for pair := range strings.SplitSeq(v, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, escaped, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(escaped))
		if !ok || err != nil || !httpguts.ValidHeaderFieldName(key) || !httpguts.ValidHeaderFieldValue(value) {
			return fmt.Errorf("%s: a header is malformed; write NAME=VALUE,NAME=VALUE with percent-encoded values", name)
		}
		t.headers.Set(key, value)
	}
	return nil
}

func (t *otlpTarget) readTimeout() error {
	name, v := variable("TIMEOUT")
	if v == "" {
		return nil
	}
	ms, err := strconv.ParseInt(v, 10, 32)
	if err != nil || ms <= 0 {
		return fmt.Errorf("%s=%s: it is a number of milliseconds, such as 10000", name, v)
	}
	t.timeout = time.Duration(ms) * time.Millisecond
	return nil
}

func (t *otlpTarget) readCompression() error {
	name, v := variable("COMPRESSION")
	switch v {
	case "", "none":
	case "gzip":
		t.gzip = true
	default:
		return fmt.Errorf("%s=%s: it is gzip or none", name, v)
	}
	return nil
}

// readTLS reads the certificates for the connection to the receiver.
func (t *otlpTarget) readTLS() error {
	name, file := variable("CERTIFICATE")
	if file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s: %s has no certificate in PEM", name, file)
		}
		t.tls = &tls.Config{RootCAs: pool}
	}
	certificateName, certificate := variable("CLIENT_CERTIFICATE")
	_, key := variable("CLIENT_KEY")
	if certificate == "" && key == "" {
		return nil
	}
	if certificate == "" || key == "" {
		return errors.New(prefix + "CLIENT_CERTIFICATE and " + prefix + "CLIENT_KEY belong together: set both")
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("%s: %w", certificateName, err)
	}
	if t.tls == nil {
		t.tls = &tls.Config{}
	}
	t.tls.Certificates = []tls.Certificate{pair}
	return nil
}
