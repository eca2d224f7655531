package fidelity

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop"
)

const hanging = `{"_meta":{"io.modelcontextprotocol/HOP":0,"a":1},"arguments":{"key":"gate"}}`

// word returns the first word of the fixture's event for a cancelled request.
func (up upstream) word() string {
	if up.http && up.era == interop.Modern {
		return "disconnected " // the stream closes (2026-07-28, streamable HTTP)
	}
	return "cancelled "
}

// hang starts the nth call of the tool hang, and returns it with its id at the fixture.
func (r *rig) hang(c *client, tool string, n int) (x *exchange, id string) {
	x = c.startCall(tool, hanging)
	return x, strings.TrimPrefix(r.WaitN("call hang ", n), "call hang ")
}

// cancel cancels a call in the way of the client: a modern client over HTTP disconnects, all others
// send a notification.
func (x *exchange) cancel() {
	if x.leave != nil && x.session.modern {
		x.leave()
		return
	}
	x.session.notify(x.session,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+x.id+`,"reason":"no more"}}`)
}

func TestCancellationGoesUp(t *testing.T) {
	everyUpstream(t, func(r *rig) {
		n := 0
		r.each(r.T, func(t *testing.T, c *client) {
			n++
			x, id := r.hang(c, "fx__hang", n)
			x.cancel()
			r.Wait(r.up.word() + id)
			if x.leave != nil { // over HTTP the request ends without a response
				for m := x.next(); m != nil; m = x.next() {
					t.Errorf("after the cancellation came %.300s", m)
				}
			}
			received(t, c.call("fx__echo_raw", plain)) // on a pipe no message came before this response
		})
	})
}

// TestALegacyClientThatLeavesCancelsNothing checks that a disconnect is not a cancellation
// (2025-11-25, basic/transports).
func TestALegacyClientThatLeavesCancelsNothing(t *testing.T) {
	everyUpstream(t, func(r *rig) {
		gone := make(chan struct{}, 3)
		serve := r.host.Handler()
		url := r.serve(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			context.AfterFunc(req.Context(), func() { gone <- struct{}{} }) // the client left, or the request ended
			serve.ServeHTTP(w, req)
		}))
		c := httpClient(r, "client that leaves", url, false, "application/json, text/event-stream")
		<-gone // its handshake has two requests
		<-gone
		x, id := r.hang(c, "fx__hang", 1)
		x.leave()
		<-gone
		for _, other := range r.clients {
			received(t, other.call("fx__echo_raw", plain))
		}
		r.Send("release gate")
		r.Wait("handled " + id)
		for _, e := range append(r.Events("cancelled "), r.Events("disconnected ")...) {
			if strings.HasSuffix(e, " "+id) {
				t.Errorf("the server was told: %s", e)
			}
		}
	})
}
