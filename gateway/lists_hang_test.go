package gateway_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// A client that lists waits once for a server that hangs. Later waits are short and less and less frequent.
func TestAServerThatHangsOnItsListsDelaysLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := scripts{"a": resources(replyWith(`{"resources":[{"uri":"x:1"}]}`)), "b": resources(func(interop.Message) (string, error) {
			<-release
			return `{"resources":[]}`, nil
		})}
		s["a"].answers["server/discover"] = discovers(`{"resources":{"listChanged":true}}`)
		g := gateway.New(t.Context(), []config.Server{{ID: "a"}, {ID: "b"}}, &gateway.Options{Ledger: s.options(t), Host: host.Options{KeepAlive: -1}})
		defer g.Close()
		defer close(release)
		list := func() time.Duration {
			began := time.Now()
			if uris, _ := listed(t, ask(t, g.Handler(), "/mcp", "resources/list", "{}"), "resources", "uri"); len(uris) != 1 {
				t.Errorf("%q", uris)
			}
			return time.Since(began)
		}
		list()
		waited := time.Duration(0)
		for range 600 {
			time.Sleep(time.Second)
			took := list()
			waited += took
			if took > 2*time.Second {
				t.Errorf("a list took %v", took)
			}
		}
		if n := s["b"].times("resources/list"); n > 10 || waited > 3*time.Minute { // of ten; without patience it is an hour
			t.Errorf("it was asked %d times, and all waited for %v", n, waited)
		}
	})
}

// The owner of a name that two servers list does not depend on which server answers first.
func TestTheFirstServerOwnsANameHoweverLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := scripts{"a": resources(func(interop.Message) (string, error) {
			<-release
			return `{"resources":[{"uri":"x:1"}]}`, nil
		}), "b": resources(replyWith(`{"resources":[{"uri":"x:1"}]}`))}
		for id := range s {
			s[id].answers["resources/read"] = replyWith(`{"contents":[{"uri":"x:1","text":"of ` + id + `"}]}`)
		}
		g := gateway.New(t.Context(), []config.Server{{ID: "a"}, {ID: "b"}}, &gateway.Options{Ledger: s.options(t), Host: host.Options{KeepAlive: -1}})
		defer g.Close()
		var asking sync.WaitGroup
		asking.Go(func() { ask(t, g.Handler(), "/mcp", "resources/list", "{}") })
		synctest.Wait() // b has listed it
		asking.Go(func() {
			if got := ask(t, g.Handler(), "/mcp", "resources/read", `{"uri":"x:1"}`); !strings.Contains(string(got.Result), "of a") {
				t.Errorf("%s %+v", got.Result, got.Error)
			}
		})
		synctest.Wait()
		close(release)
		asking.Wait()
	})
}
