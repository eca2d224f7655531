package interop_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// methods returns the methods that the fixture has received so far, in order.
func (r *rig) methods() string {
	var all []string
	for _, e := range r.Events("recv ") {
		all = append(all, strings.Fields(e)[1])
	}
	return strings.Join(all, " ")
}

func TestEndpointFindsTheEraOverStdio(t *testing.T) {
	t.Parallel()
	const probed = "server/discover initialize"
	for _, c := range []struct {
		name    string
		flags   []string
		known   interop.Era
		wait    time.Duration // before initialize is sent beside the probe
		era     interop.Era
		version string
		starts  int
		methods string
	}{
		{"modern", []string{"-era", "modern"}, "", time.Hour, interop.Modern, "2026-07-28", 1, "server/discover"},
		{"dual", nil, "", time.Hour, interop.Modern, "2026-07-28", 1, "server/discover"},
		{"legacy", []string{"-era", "legacy"}, "", time.Hour, interop.Legacy, "2025-11-25", 1, probed},
		{"old", []string{"-era", "legacy", "-legacy-version", "2024-11-05"}, "", time.Hour, interop.Legacy, "2024-11-05", 1, probed},
		{"an error of its own", []string{"-era", "legacy", "-probe", "error"}, "", time.Hour, interop.Legacy, "2025-11-25", 1, probed},
		{"an empty result", []string{"-era", "legacy", "-probe", "empty"}, "", time.Hour, interop.Legacy, "2025-11-25", 1, probed},
		{"a broken answer", []string{"-era", "legacy", "-malformed", "server/discover"}, "", time.Hour, interop.Legacy, "2025-11-25", 1, probed},
		{"hangs on the probe", []string{"-era", "legacy", "-probe", "ignore"}, "", brief / 3, interop.Legacy, "2025-11-25", 1, probed},
		{"exits on the probe", []string{"-era", "legacy", "-probe", "exit"}, "", time.Hour, interop.Legacy, "2025-11-25", 2, probed},
		{"takes the probe for the handshake", []string{"-era", "legacy", "-probe", "begin"}, "", time.Hour, interop.Legacy, "2025-11-25", 2, probed + " initialize"},
		{"modern and hangs on initialize", []string{"-era", "modern", "-hang", "initialize", "-delay", "2s", "-delay-on", "server/discover"}, "", brief / 3, interop.Modern, "2026-07-28", 1, probed},
		{"remembered legacy", []string{"-era", "dual"}, interop.Legacy, time.Hour, interop.Legacy, "2025-11-25", 1, "initialize"},
		{"remembered modern", []string{"-era", "legacy"}, interop.Modern, time.Hour, interop.Legacy, "2025-11-25", 1, probed},
		{"noise around all", []string{"-era", "legacy", "-noise"}, "", time.Hour, interop.Legacy, "2025-11-25", 1, probed},
		{"a long line first", []string{"-bigline", "2000000"}, "", time.Hour, interop.Modern, "2026-07-28", 1, "server/discover"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			opts := &interop.EndpointOptions{Era: c.known, MaxMessage: 1 << 20}
			interop.SetProbeWait(opts, c.wait)
			r := onFixture(t, opts, config.Timeouts{}, append([]string{"-no-list-changed"}, c.flags...)...)
			mustOpen(t, r.Endpoint)
			if s := r.Status(); s.Era != c.era || s.Version != c.version || r.Era() != c.era {
				t.Errorf("era %s, version %s; want %s, %s", s.Era, s.Version, c.era, c.version)
			}
			r.WaitN("start ", c.starts)
			r.fence()
			if n := len(r.Events("start ")); n != c.starts {
				t.Errorf("%d processes, want %d", n, c.starts)
			}
			if got := r.methods(); got != c.methods {
				t.Errorf("it was asked %s, want %s", got, c.methods)
			}
			wantReady(t, r.Endpoint)
			if n := len(r.Events("cancelled ")); n != 0 {
				t.Error("a question of the handshake was cancelled")
			}
			if c.era == interop.Legacy {
				r.Wait("notified notifications/initialized")
			}
		})
	}
}

func TestEndpointSpeaksTheConfiguredEra(t *testing.T) {
	for name, c := range map[string]struct {
		flags   string
		pin     interop.Era
		methods string
		fault   string // "" if there is none
	}{
		"legacy":                  {"dual", interop.Legacy, "initialize", ""},
		"modern":                  {"dual", interop.Modern, "server/discover", ""},
		"legacy, of a modern one": {"modern", interop.Legacy, "initialize", "initialize: "},
		"modern, of a legacy one": {"legacy", interop.Modern, "server/discover", "server/discover: Method not found"},
	} {
		for _, over := range []string{"stdio", "HTTP"} {
			t.Run(name+" over "+over, func(t *testing.T) {
				f := fixture.New(t, "-no-list-changed", "-era", c.flags)
				kind, s := interop.SpawnFailed, childServer("fx", f)
				if over == "HTTP" {
					kind, s.Transport = interop.Transport, config.HTTP{URL: f.HTTP()}
				}
				s.Era = c.pin
				r := &rig{newEndpoint(t, s, &interop.EndpointOptions{Era: interop.Modern}), f.Control, t}
				err := r.Open(t.Context())
				if c.fault != "" {
					wantFleetFault(t, err, kind, "fx", "", c.fault)
				} else if err != nil || r.Era() != c.pin {
					t.Errorf("era %s, %v", r.Era(), err)
				}
				if c.fault == "" {
					r.fence()
				}
				r.Wait("recv ")
				if got := r.methods(); got != c.methods {
					t.Errorf("it was asked %s, want %s", got, c.methods)
				}
				if n := len(r.Events("start ")); n != 1 {
					t.Errorf("%d processes", n)
				}
			})
		}
	}
	s := config.Server{ID: "fx", Era: interop.Modern, Transport: config.SSE{URL: "http://127.0.0.1:1/"}}
	wantFleetFault(t, newEndpoint(t, s, nil).Open(t.Context()), interop.Transport, "fx", "", "HTTP+SSE is older than the modern era")
}

// A server that forwards everything to another server takes the first message for the
// beginning of a session there. After a question for its era it refuses the handshake.
func TestEndpointConnectsSupergateway(t *testing.T) {
	t.Parallel()
	path, args := peers.Command(t, "supergateway", "--logLevel", "none", "--streamableHttp", peers.EverythingHTTP(t))
	e := newEndpoint(t, config.Server{ID: "sg", Transport: config.Stdio{Command: path, Args: args}}, nil)
	mustOpen(t, e)
	if tools, err := e.Tools(t.Context()); err != nil || len(tools) < 5 || e.Era() != interop.Legacy {
		t.Errorf("%d tools, era %s, %v", len(tools), e.Era(), err)
	}
}

// The known era of a process decides how to connect to it, and a wrong era is corrected.
func TestTheEraThatWorkedIsRemembered(t *testing.T) {
	row := toolbox.Wire{Format: "mcp/legacy", JSON: json.RawMessage(`{"name":"echo","inputSchema":{"type":"object"}}`)}
	for era, want := range map[string]string{"dual": "initialize tools/list", "modern": "initialize server/discover tools/list"} {
		f := fixture.New(t, "-no-list-changed", "-era", era)
		fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce, Known: func(string) []toolbox.Wire { return []toolbox.Wire{row} }})
		fleet.Apply([]config.Server{childServer("a", f)})
		d.wait("a", interop.ServerReady, 1)
		f.Wait("recv tools/list")
		if got := (&rig{nil, f.Control, t}).methods(); got != want {
			t.Errorf("%s was asked %s, want %s", era, got, want)
		}
	}
}

// A server that hung after a probe is not probed the next time.
func TestAServerThatHangsOnTheProbeComesUp(t *testing.T) {
	t.Parallel()
	hangs := shellServer(`read line; case "$line" in *server/discover*) cat >/dev/null;; esac
		echo '{ANSWER:1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'; read line; read line; echo '{ANSWER:2,"result":{"tools":[]}}'; cat >/dev/null`)
	hangs.Timeouts.Connect = brief
	fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce})
	fleet.Apply([]config.Server{hangs})
	if e := d.wait("fx", interop.ServerFaulted, 1); e.Status.Fault.Kind != interop.Timeout {
		t.Error(e.Status.Fault)
	}
	d.wait("fx", interop.ServerReady, 1)
}

func TestEndpointDropsTheProbesLateAnswer(t *testing.T) {
	t.Parallel()
	opts := &interop.EndpointOptions{}
	interop.SetProbeWait(opts, brief/3)
	r := onFixture(t, opts, config.Timeouts{}, "-hang", "server/discover")
	mustOpen(t, r.Endpoint)
	if r.Era() != interop.Legacy {
		t.Fatalf("era %s", r.Era())
	}
	r.Send("release server/discover")
	r.Wait("handled 1")
	wantReady(t, r.Endpoint)
	if s := r.Status(); s.Era != interop.Legacy || s.Noise != 0 {
		t.Errorf("%+v", s)
	}
}

// shellServer is a server that runs a shell script. ANSWER in the script stands for the
// beginning of a reply.
func shellServer(script string) config.Server {
	script = strings.ReplaceAll(script, "ANSWER", `"jsonrpc":"2.0","id"`)
	return config.Server{ID: "fx", Transport: config.Stdio{Command: "sh", Args: []string{"-c", script}}}
}

func TestEndpointSaysWhichVersionsAServerSpeaks(t *testing.T) {
	const refusal = `read line; echo '{ANSWER:2,"error":{"code":-32601,"message":"method not found: initialize"}}'; cat >/dev/null`
	for name, probe := range map[string]string{
		"an error":  `{ANSWER:1,"error":{"code":-32022,"message":"no","data":{"supported":["2031-01-01"]}}}`,
		"a result":  `{ANSWER:1,"result":{"supportedVersions":["2031-01-01"],"capabilities":{}}}`,
		"an answer": `{ANSWER:1,"error":{"code":-32601,"message":"what?"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			says := "2031-01-01"
			if name == "an answer" {
				says = "initialize: method not found: initialize (-32601)"
			}
			faultCase{kind: interop.SpawnFailed, texts: []string{says}}.
				check(t, newEndpoint(t, shellServer(fmt.Sprintf(`read line; echo '%s'; `, probe)+refusal), nil))
		})
	}
	t.Run("to initialize", func(t *testing.T) {
		faultCase{kind: interop.SpawnFailed, texts: []string{"2031-01-01"}}.check(t, newEndpoint(t,
			shellServer(`read line; echo '{ANSWER:1,"result":{}}'; read line; echo '{ANSWER:2,"result":{"protocolVersion":"2031-01-01"}}'; cat >/dev/null`), nil))
	})
}

func TestEndpointKeepsTheStderrOfASlowServer(t *testing.T) {
	t.Parallel()
	var opening sync.WaitGroup
	for range 5 { // the race of the two deadlines may end either way
		s := shellServer(`echo 'downloading the internet' >&2; cat >/dev/null`)
		s.Timeouts.Connect = 3 * time.Second // enough time to begin
		e := newEndpoint(t, s, nil)
		opening.Go(func() {
			err := e.Open(t.Context())
			if !errors.Is(err, interop.Timeout) || !strings.Contains(err.Error(), "connect: no answer within 3s; its stderr ends: \"downloading the internet\"") {
				t.Error(err)
			}
		})
	}
	opening.Wait()
}

func TestEndpointGivesAServerItsEnvironment(t *testing.T) {
	t.Setenv("INDUS_TEST_OWN", "private")
	f := fixture.New(t)
	s := config.Server{ID: "fx", Transport: config.Stdio{
		Command: f.Path, Args: f.Args, Dir: t.TempDir(),
		Env: []config.Pair{{Name: "TOKEN", Value: config.NewSecret("one")}, {Name: "TOKEN", Value: config.NewSecret("two")}},
	}}
	r := &rig{newEndpoint(t, s, nil), f.Control, t}
	mustOpen(t, r.Endpoint)
	told := r.invoke("process", "")
	for part, want := range map[string]bool{`"TOKEN=two"`: true, "TOKEN=one": false, "INDUS_TEST_OWN": false, s.Transport.(config.Stdio).Dir: true} {
		if strings.Contains(told, part) != want {
			t.Errorf("%s: %v, want %v in %s", part, !want, want, told)
		}
	}
}
