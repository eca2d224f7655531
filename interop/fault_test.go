package interop_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

func TestAFaultAnswersForItsKindAndItsCause(t *testing.T) {
	cause := fmt.Errorf("read: %w", io.EOF)
	var err error = interop.NewFault(interop.Timeout, "weather", "connect", cause)
	if !errors.Is(err, interop.Timeout) || !errors.Is(err, io.EOF) {
		t.Errorf("errors.Is(Timeout) = %v, errors.Is(io.EOF) = %v, want both", errors.Is(err, interop.Timeout), errors.Is(err, io.EOF))
	}
	if errors.Is(err, interop.Transport) {
		t.Error("it claims to be of another kind")
	}
	var fault *interop.Fault
	if !errors.As(fmt.Errorf("outer: %w", err), &fault) || fault.Server != "weather" {
		t.Errorf("errors.As gives %v", fault)
	}
	if got, want := err.Error(), "weather: connect: read: EOF"; got != want {
		t.Errorf("Error() = %q, want %q: the message, without the kind", got, want)
	}
}

// kinds is the closed set of kinds.
var kinds = []interop.Kind{interop.Transport, interop.Protocol, interop.Timeout, interop.ToolError, interop.NotConnected, interop.SpawnFailed}

func TestEachKindHasAdvice(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range kinds {
		try := (&interop.Fault{Kind: k}).Advice()
		if try == "" || seen[try] {
			t.Errorf("%s: advice %q is missing or another kind's", k, try)
		}
		seen[try] = true
	}
}

func TestPhases(t *testing.T) {
	var usable, terminal []interop.Phase
	for _, p := range []interop.Phase{interop.Idle, interop.Connecting, interop.Ready, interop.Closing, interop.Closed, interop.Faulted} {
		if p.Usable() {
			usable = append(usable, p)
		}
		if p.Terminal() {
			terminal = append(terminal, p)
		}
	}
	if fmt.Sprint(usable) != "[ready]" || fmt.Sprint(terminal) != "[closed faulted]" {
		t.Errorf("usable %v, terminal %v", usable, terminal)
	}
}

func TestASecretIsNeverPrinted(t *testing.T) {
	const plain = "hunter2"
	server := config.Server{ID: "x", Transport: config.HTTP{
		URL: "http://user:hunter2@127.0.0.1/?key=hunter2", Headers: []config.Pair{{Name: "Authorization", Value: config.NewSecret(plain)}},
	}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		fmt.Fprintf(&out, verb+"\n", server)
		fmt.Fprintf(&out, verb+"\n", config.NewSecret(plain))
		fmt.Fprintf(&out, verb+"\n", config.Server{ID: "y", Transport: config.Stdio{Command: "c", Args: []string{plain}}})
	}
	full := config.Server{
		ID: "z", Transport: config.Stdio{Command: "c", Args: []string{"--token=" + plain}}, Secrets: []config.Secret{config.NewSecret(plain)},
		Identity: []config.Secret{config.NewSecret("c"), config.NewSecret(""), config.NewSecret("--token=" + plain)},
	}
	endpoint := interop.NewEndpoint(full, nil)
	defer endpoint.Close()
	fleet := interop.NewFleet(&interop.FleetOptions{Lazy: true})
	defer fleet.Close()
	fleet.Apply([]config.Server{full})
	type holder struct {
		Server config.Server
		Reach  config.TransportConfig
		own    []config.Secret
	}
	held := holder{full, full.Transport, full.Identity}
	for _, v := range []any{
		full, &full, []config.Server{full}, map[string]config.Server{"k": full}, held, &held, full.Transport, server.Transport,
		endpoint, endpoint.Status(), endpoint.Server(), fleet, fleet.Status(), config.SSE{URL: "http://h/?key=" + plain},
		config.Pair{Name: "Authorization", Value: config.NewSecret(plain)},
	} {
		fmt.Fprintf(&out, "%v %+v %#v %s\n", v, v, v, v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "secret", config.NewSecret(plain), "server", server)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "secret", config.NewSecret(plain))
	if s := out.String(); strings.Contains(s, plain) || strings.Contains(strings.ToLower(s), "68756e74657232") {
		t.Errorf("the secret stands in:\n%s", s)
	}
	if got := config.NewSecret(plain).Reveal(); got != plain {
		t.Errorf("Reveal() = %q", got)
	}
}

func TestServersAreEqualByHowTheyAreReached(t *testing.T) {
	base := func() config.Server {
		return config.Server{ID: "a", Transport: config.Stdio{Command: "x", Args: []string{"1"}, Env: []config.Pair{{Name: "K", Value: config.NewSecret("V")}}}}
	}
	if !base().Equal(base()) {
		t.Error("a server differs from itself")
	}
	for name, other := range map[string]config.Server{
		"id":        {ID: "b", Transport: base().Transport},
		"transport": {ID: "a", Transport: config.HTTP{URL: "x"}},
		"args":      {ID: "a", Transport: config.Stdio{Command: "x", Args: []string{"2"}, Env: []config.Pair{{Name: "K", Value: config.NewSecret("V")}}}},
		"secret":    {ID: "a", Transport: config.Stdio{Command: "x", Args: []string{"1"}, Env: []config.Pair{{Name: "K", Value: config.NewSecret("W")}}}},
		"timeout":   {ID: "a", Transport: base().Transport, Timeouts: config.Timeouts{Call: 1}},
	} {
		if base().Equal(other) {
			t.Errorf("a server with another %s is taken for the same", name)
		}
	}
}
