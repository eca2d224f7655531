package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// stateless returns a modern client over HTTP, which has no session.
func stateless(name string) *recordingClient {
	c := newRecordingClient(interop.Modern, name, everyCapability)
	c.Always = nil
	return c
}

// clientOutcome is the outcome of a call.
type clientOutcome struct {
	client, text string
	err          error
}

// callAsEach starts a call for each client, and returns the outcomes.
func callAsEach(t *testing.T, fleet *interop.Fleet, tool string, clients ...string) <-chan clientOutcome {
	out := make(chan clientOutcome, len(clients))
	for _, client := range clients {
		go func() {
			text, err := callAs(t.Context(), fleet, &stateless(client).Client, "", tool, "")
			out <- clientOutcome{client, text, err}
		}()
	}
	return out
}

// Calls of clients without a session share one connection as long as none of them asks.
func TestCallsThatDoNotAskShareAConnection(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
	ends := callAsEach(t, fleet, "wait", make([]string, 40)...)
	for range 40 {
		receiveSoon(t, a.started, "the call")
	}
	if n := sessionsOf(a); n > 3 {
		t.Errorf("40 calls take %d connections, and that of all", n-1)
	}
	close(a.release)
	for range 40 {
		if e := <-ends; e.text != "waited" || e.err != nil {
			t.Error(e)
		}
	}
	fleet.Close()
	a.sessions(0)
}

// A connection for a client without a session ends after 30 s without a request.
func TestConnectionsWithoutASessionEndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAskingServer(t)
		close(a.later)
		fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
		defer fleet.Close()
		for range 3 {
			for _, tool := range []string{"session", "later"} {
				ends := callAsEach(t, fleet, tool, "ann", "bob", "eve")
				for range 3 {
					if e := <-ends; e.err != nil || tool == "later" && e.text != e.client {
						t.Error(e)
					}
				}
			}
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if n := sessionsOf(a); n != 1 {
			t.Errorf("%d connections are left", n)
		}
	})
}

// Several programs of one principal call, all for the first time, a tool that asks. Each program receives its own
// question.
func TestProgramsOfOnePrincipalAreAskedApart(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
	for range 10 {
		ends := callAsEach(t, fleet, "ask", "ann", "bob", "eve", "joe", "kim", "lea")
		for range 6 {
			if e := <-ends; e.text != e.client || e.err != nil {
				t.Errorf("%s was asked as %q, %v", e.client, e.text, e.err)
			}
		}
	}
}

// A tool that did not ask before asks now, while other programs have calls on the connection. The question waits for
// those calls. If its program stays unknown, it is refused, and the next call has its own connection.
func TestAQuestionIsNeverAnotherPrograms(t *testing.T) {
	for name, several := range map[string]bool{"one asks": false, "two ask": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAskingServer(t)
				fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
				defer fleet.Close()
				for _, tool := range []string{"perhaps", "session"} {
					if e := <-callAsEach(t, fleet, tool, "ann"); e.err != nil {
						t.Fatal(e)
					}
				}
				a.mayAsk.Store(true)
				other := callAsEach(t, fleet, "wait", "eve")
				<-a.started
				close(a.release)
				<-other // it ends without a question
				a.release = make(chan struct{})
				other = callAsEach(t, fleet, "wait", "eve")
				<-a.started
				callers := []string{"ann"}
				if several {
					callers = []string{"ann", "bob"}
				}
				asking := callAsEach(t, fleet, "perhaps", callers...)
				for range callers {
					<-a.started
				}
				if n := sessionsOf(a); n != 2 {
					t.Fatalf("%d connections, want one for all the calls, and that of all", n)
				}
				close(a.later)
				time.Sleep(time.Second)
				close(a.release)
				if e := <-other; e.text != "waited" || e.err != nil {
					t.Error(e)
				}
				for range callers {
					switch e := <-asking; {
					case e.err != nil:
						t.Error(e)
					case several && !strings.Contains(e.text, "call again"), !several && e.text != "ann":
						t.Errorf("%s was asked as %q", e.client, e.text)
					}
				}
				asking = callAsEach(t, fleet, "perhaps", "ann", "bob") // these calls are known to ask now
				for range 2 {
					<-a.started
					if e := <-asking; e.text != e.client || e.err != nil {
						t.Errorf("%s was asked as %q, %v", e.client, e.text, e.err)
					}
				}
			})
		})
	}
}

// A call that was cancelled may still ask. Its question does not reach the program of another call.
func TestAQuestionOfACancelledCallIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAskingServer(t)
		fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
		defer fleet.Close()
		if e := <-callAsEach(t, fleet, "perhaps", "ann"); e.err != nil {
			t.Fatal(e)
		}
		a.mayAsk.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		ann := stateless("ann")
		gone := make(chan error, 1)
		go func() {
			_, err := callAs(ctx, fleet, &ann.Client, "", "perhaps", "")
			gone <- err
		}()
		<-a.started
		bob := callAsEach(t, fleet, "perhaps", "bob")
		<-a.started
		cancel()
		<-gone
		next := callAsEach(t, fleet, "session", "eve") // on another connection, so it does not wait for the hanging call
		if e := <-next; e.err != nil {
			t.Error(e)
		}
		close(a.later)
		if e := <-bob; e.err != nil || !strings.Contains(e.text, "call again") {
			t.Errorf("bob was asked as %q, %v", e.text, e.err)
		}
	})
}

// A modern client on stdio is one program. All its calls share a connection, and each question reaches the client. If
// the call that carried a question ends, the question is sent with another call.
func TestAModernSessionSharesAConnection(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
	c := stateless("Ada")
	c.Session = "stdio"
	asked, release, answer := make(chan struct{}, 10), make(chan struct{}), c.Back
	c.Back = func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		if m.ID != nil {
			asked <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return answer(ctx, m)
	}
	var calling sync.WaitGroup
	call := func(tool, want string) {
		calling.Go(func() {
			if got, err := callAs(t.Context(), fleet, &c.Client, "", tool, ""); got != want || err != nil {
				t.Errorf("%s: %q, %v, want %q", tool, got, err, want)
			}
		})
	}
	call("later", "Ada")
	receiveSoon(t, a.started, "the call that asks")
	call("wait", "waited") // the newest call, to which the question is attributed
	receiveSoon(t, a.started, "the other call")
	close(a.later)
	receiveSoon(t, asked, "the question")
	close(a.release)
	receiveSoon(t, asked, "the question, once more")
	close(release)
	calling.Wait()
	for range 8 {
		call("ask", "Ada")
	}
	calling.Wait()
	a.sessions(2)
}

// The programs of one principal run concurrently, and no question reaches another program.
func TestQuestionsOfSharedConnectionsDoNotCross(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	a.mayAsk.Store(true)
	close(a.later)
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options, CallWait: time.Minute})
	var calling sync.WaitGroup
	for i := range 12 {
		who := fmt.Sprint("program ", i)
		c := stateless(who)
		calling.Go(func() {
			for n := range 30 {
				tool := []string{"ask", "session", "perhaps", "log"}[(i+n)%4]
				got, err := callAs(t.Context(), fleet, &c.Client, "", tool, "")
				if err != nil || strings.HasPrefix(got, "program") && got != who {
					t.Errorf("%s by %s: %q, %v", tool, who, got, err)
				}
			}
		})
	}
	calling.Wait()
}

// A client receives reports of the server before the question that follows them, as without a bridge.
func TestAQuestionComesAfterWhatWasReportedBeforeIt(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		c := newRecordingClient(era, "Ada", everyCapability)
		c.LogLevel = "debug"
		if era == interop.Legacy {
			c.Session = "s"
		}
		var order []string
		var mu sync.Mutex
		answer := c.Back
		c.Back = func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, strings.TrimPrefix(m.Method, "notifications/"))
			return answer(ctx, m)
		}
		const params = `{"name":"report","arguments":{},"_meta":{"progressToken":7}}`
		want := strings.Repeat("progress message ", 3) + "elicitation/create"
		for range 40 {
			got, err := callAs(t.Context(), fleet, &c.Client, "", "report", params)
			if err != nil || got != "Ada" {
				t.Fatalf("%q, %v", got, err)
			}
			mu.Lock()
			if said := strings.Join(order, " "); said != want {
				t.Errorf("%s client: %s, want %s", era, said, want)
			}
			order = nil
			mu.Unlock()
		}
	}
}

// dualServer is a server of the TypeScript SDK 2. It accepts initialize, and names only the modern revision in
// server/discover.
const dualServer = `
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
serveStdio(() => {
  const server = new McpServer({ name: "dual", version: "1" }, { capabilities: {} });
  server.registerTool("ask", { description: "asks" }, async () => {
    const r = await server.server.elicitInput({ message: "who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } });
    return { content: [{ type: "text", text: r.content.name }] };
  });
  return server;
});
`

// A modern server that names no legacy revision receives one initialize for a client that it could not ask otherwise.
func TestAServerThatNamesOneRevisionIsTriedWithInitialize(t *testing.T) {
	t.Parallel()
	transport := config.Stdio{Command: peers.Node(t), Args: []string{"--input-type=module", "-e", dualServer}, Dir: peers.File(t, ".")}
	for name, per := range map[string]string{"for all": "", "for a principal": config.PerPrincipal} {
		fleet := fleetOf(t, config.Server{ID: "a", Transport: transport, Pool: config.Pool{Per: per}}, nil)
		if era := fleet.Status()[0].Era; era != interop.Modern {
			t.Fatalf("%s: it is %s", name, era)
		}
		c := newRecordingClient(interop.Legacy, "Ada", everyCapability)
		c.Session = "s"
		if got, err := callAs(t.Context(), fleet, &c.Client, "ann", "ask", ""); got != "Ada" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A server that rejects initialize still serves the client.
func TestAServerThatTakesNoInitializeServes(t *testing.T) {
	t.Parallel()
	for name, per := range map[string]string{"for all": "", "for a principal": config.PerPrincipal} {
		s := config.Server{ID: "a", Transport: config.HTTP{URL: peers.SDKEverythingHTTP(t, true)}, Pool: config.Pool{Per: per}}
		fleet := fleetOf(t, s, nil)
		c := newRecordingClient(interop.Legacy, "Ada", everyCapability)
		c.Session = "s"
		const params = `{"name":"x","arguments":{}}`
		if got, err := callAs(t.Context(), fleet, &c.Client, "ann", "test_input_required_result_elicitation", params); err != nil || !strings.Contains(got, "Ada") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
