package operation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/operation"
)

func names(r *operation.Registry) (list []string) {
	for _, e := range r.Snapshot().Operations {
		list = append(list, e.Spec.Name)
	}
	return list
}

func TestACollisionIsAnErrorAndChangesNothing(t *testing.T) {
	r := registry(t, public("a", returning("1", nil)))
	before := r.Snapshot()
	fresh := public("b", returning("2", nil))
	taken := public("a", returning("2", nil))
	taken.Owner, taken.Provenance = "github", operation.FromMCP
	for about, err := range map[string]error{
		"add":      r.Add(fresh, taken),
		"replace":  r.Replace("github", fresh, taken),
		"together": r.Add(fresh, fresh),
	} {
		collision, ok := errors.AsType[*operation.Collision](err)
		if !ok || r.Snapshot() != before {
			t.Errorf("%s: %v", about, err)
			continue
		}
		if about == "add" && err.Error() != `operation: "a" is registered already, by a local operation; "github" (from_mcp) cannot have the name too` || collision.Has.Spec.Name != collision.Name {
			t.Errorf("%s: %v", about, err)
		}
	}
	if got := ask(r, "a", ""); string(got.Value) != "1" {
		t.Errorf("%+v", got)
	}
}

func TestReplaceIsOneChangeThatKeepsPlaces(t *testing.T) {
	r := registry(t, public("first", returning("0", nil)))
	version := r.Snapshot().Version
	one := func(names ...string) (list []operation.Registration) {
		for _, name := range names {
			list = append(list, public(name, returning("1", nil)))
		}
		return list
	}
	for i, tt := range []struct {
		owner string
		gets  []string
		want  string
	}{
		{"x", []string{"x1", "x2", "x3"}, "first x1 x2 x3"},
		{"y", []string{"y1"}, "first x1 x2 x3 y1"},
		{"x", []string{"x4", "x3", "x1"}, "first x1 x3 y1 x4"},
		{"x", nil, "first y1"},
	} {
		if err := r.Replace(tt.owner, one(tt.gets...)...); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names(r), " "); got != tt.want || r.Snapshot().Version != version+uint64(i)+1 {
			t.Errorf("%q at version %d, not %q", got, r.Snapshot().Version, tt.want)
		}
	}
	if err := r.Replace("x"); err != nil || r.Snapshot().Version != version+4 {
		t.Errorf("nothing is replaced by nothing: %v, %d", err, r.Snapshot().Version)
	}
	if err := r.Replace("", one("z")...); err == nil {
		t.Error("nobody's operations were replaced")
	}
	before := r.Snapshot()
	if err := r.Replace("y"); err != nil {
		t.Fatal(err)
	}
	if r.Snapshot().Version != before.Version+1 || len(before.Operations) != 2 {
		t.Errorf("%+v", r.Snapshot())
	}
	now := r.Snapshot()
	if err := r.Replace("y"); err != nil || r.Snapshot() != now {
		t.Error("nothing was removed, and the snapshot is another one")
	}
}

func TestWhatCannotBeRegistered(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(*operation.Registration)
	}{
		{"operation: an operation needs a name", func(r *operation.Registration) { r.Spec.Name = "" }},
		{`operation: the name "/x" begins or ends with a slash or a space`, func(r *operation.Registration) { r.Spec.Name = "/x" }},
		{`operation: the name "a\nb" is not printable text`, func(r *operation.Registration) { r.Spec.Name = "a\nb" }},
		{`operation: the name "a\xff" is not printable text`, func(r *operation.Registration) { r.Spec.Name = "a\xff" }},
		{`operation: the name "` + strings.Repeat("x", 40) + `…" has 257 bytes, over 256`, func(r *operation.Registration) { r.Spec.Name = strings.Repeat("x", 257) }},
		{`operation: "x": there is no kind 7`, func(r *operation.Registration) { r.Spec.Kind = 7 }},
		{`operation: "x": there is no visibility 2`, func(r *operation.Registration) { r.Spec.Visibility = 2 }},
		{`operation: "x": input schema: a schema is an object, true or false`, func(r *operation.Registration) { r.Spec.Input = json.RawMessage(`[]`) }},
		{`operation: "x": output schema: a schema is an object, true or false`, func(r *operation.Registration) { r.Spec.Output = json.RawMessage(`"string"`) }},
		{`operation: "x": an error is declared without a code`, func(r *operation.Registration) { r.Spec.Errors = []operation.ErrorDefinition{{}} }},
		{`operation: "x": error TIMEOUT is declared, which is one of the protocol's`, func(r *operation.Registration) {
			r.Spec.Errors = []operation.ErrorDefinition{{Code: operation.Timeout}}
		}},
		{`operation: "x": error A is declared twice`, func(r *operation.Registration) { r.Spec.Errors = []operation.ErrorDefinition{{Code: "A"}, {Code: "A"}} }},
		{`operation: "x": it has no Handler`, func(r *operation.Registration) { r.Handler = nil }},
		{`operation: "x": it is from_http, a leaf, and has operations to call`, func(r *operation.Registration) { r.Provenance, r.Env = "from_http", []string{"y"} }},
	} {
		reg := public("x", returning("1", nil))
		tt.change(&reg)
		r := operation.NewRegistry(nil)
		err := r.Add(reg)
		if err == nil || err.Error() != tt.want || len(names(r)) > 0 {
			t.Errorf("%v\nnot %s", err, tt.want)
		}
		if checked := reg.Check(); checked == nil || checked.Error() != tt.want {
			t.Errorf("Check: %v", checked)
		}
	}
	for _, raw := range []string{`{"type":7}`, `{"$ref":"#/nowhere"}`, `{`, ``} {
		reg := public("x", returning("1", nil))
		reg.Spec.Input = json.RawMessage(raw)
		if err := registry(t).Add(reg); err == nil {
			t.Errorf("the schema %q was taken", raw)
		}
	}
}

// If a server's schema cannot be compiled, the server validates the input itself.
func TestALeafWithASchemaThatCannotBeUsed(t *testing.T) {
	leaf := public("x", returning("1", nil))
	leaf.Provenance, leaf.Spec.Input = operation.FromMCP, json.RawMessage(`{"$ref":"#/nowhere"}`)
	var log strings.Builder
	r := operation.NewRegistry(&operation.Options{Logger: textLogger(&log)})
	if err := r.Add(leaf); err != nil {
		t.Fatal(err)
	}
	if got := ask(r, "x", `{"a":1}`); got.Err != nil || !strings.Contains(log.String(), "a schema is not checked") {
		t.Errorf("%+v\n%s", got, &log)
	}
}

func TestWhatIsRegisteredCannotBeChangedFromOutside(t *testing.T) {
	env, all := []string{"low"}, []string{"a"}
	authority := &operation.Identity{Grants: operation.Grants{Scopes: []string{"low"}}}
	secrets := operation.Capabilities{"k": operation.NewSecret("v")}
	top := public("top", calls("low", ""))
	top.Env, top.Authority, top.Capabilities, top.Spec.Access.ScopesAll = env, authority, secrets, all
	low := hidden("low", returning("1", nil))
	low.Spec.Access = operation.Access{ScopesAll: []string{"low"}}
	r := registry(t, top, low)
	env[0], all[0], authority.Scopes[0] = "x", "x", "x"
	clear(secrets)
	got := r.Call(t.Context(), operation.Call{Operation: "top", Caller: operation.Identity{Grants: scopes("a")}})
	if in := inner(t, got); in.Err != nil {
		t.Errorf("%+v", in)
	}
}

func TestReleaseComesOnceAndAfterTheLastCall(t *testing.T) {
	released := map[string]int{}
	var mu sync.Mutex
	held := func(name string, h operation.Handler) operation.Registration {
		r := public(name, h)
		r.Release = func() { mu.Lock(); defer mu.Unlock(); released[name]++ }
		return r
	}
	began, goOn := make(chan bool), make(chan bool)
	slow := held("slow", func(context.Context, *operation.Context, json.RawMessage) (json.RawMessage, error) {
		began <- true
		<-goOn
		return json.RawMessage(`"old"`), nil
	})
	r := operation.NewRegistry(nil)
	if err := r.Replace("x", slow, held("idle", returning("1", nil)), held("stays", returning("1", nil))); err != nil {
		t.Fatal(err)
	}
	if err := r.Add(held("never", nil)); err == nil {
		t.Fatal("registered")
	}
	answer := make(chan operation.Envelope)
	go func() { answer <- ask(r, "slow", "") }()
	<-began
	if err := r.Replace("x", public("slow", returning(`"new"`, nil))); err != nil {
		t.Fatal(err)
	}
	if got := ask(r, "slow", ""); string(got.Value) != `"new"` {
		t.Errorf("%+v", got)
	}
	mu.Lock()
	if diff := cmp.Diff(map[string]int{"idle": 1, "stays": 1}, released); diff != "" {
		t.Errorf("while a call runs: -want +got:\n%s", diff)
	}
	mu.Unlock()
	goOn <- true
	if got := <-answer; string(got.Value) != `"old"` {
		t.Errorf("%+v", got)
	}
	r.Close()
	r.Close()
	if diff := cmp.Diff(map[string]int{"idle": 1, "stays": 1, "slow": 1}, released); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// imports is an Adapter that returns its list.
type imports struct {
	all []operation.Registration
	err error
}

func (i imports) Import(context.Context) ([]operation.Registration, error) { return i.all, i.err }

func TestImport(t *testing.T) {
	released := 0
	leaf := hidden("leaf", returning("1", nil))
	leaf.Provenance, leaf.Release = operation.FromMCP, func() { released++ }
	r := registry(t, public("local", returning("1", nil)))
	if err := r.Import(t.Context(), "github", imports{all: []operation.Registration{leaf}}); err != nil {
		t.Fatal(err)
	}
	if e := r.Snapshot().Operations[1]; e.Owner != "github" || e.Provenance != operation.FromMCP {
		t.Errorf("%+v", e)
	}
	err := r.Import(t.Context(), "github", imports{err: fmt.Errorf("%w: 401 from example.com", operation.Unauthorized)})
	if !errors.Is(err, operation.Unauthorized) || errors.Is(err, operation.DiscoveryFailed) || err.Error() != "operation: import github: unauthorized: 401 from example.com" {
		t.Error(err)
	}
	taken := leaf
	taken.Spec.Name = "local"
	if err := r.Import(t.Context(), "github", imports{all: []operation.Registration{leaf, taken}}); err == nil || released != 2 {
		t.Errorf("%v, released %d", err, released)
	}
	if diff := cmp.Diff([]string{"local", "leaf"}, names(r)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Changes, calls and reads run at once: with -race this tests the locks. Every call is answered by an operation that
// was registered while the call ran, and every operation is released.
func TestEverythingAtOnce(t *testing.T) {
	r := registry(t, public("stays", returning(`"stays"`, nil)))
	var live atomic.Int64
	version := func(owner string, i int) []operation.Registration {
		var list []operation.Registration
		for _, name := range []string{"a", "b"}[:1+i%2] {
			reg := public(owner+"/"+name, returning(fmt.Sprintf(`"%s %d"`, owner, i), nil))
			live.Add(1)
			reg.Release = func() { live.Add(-1) }
			list = append(list, reg)
		}
		return list
	}
	var workers sync.WaitGroup
	for _, owner := range []string{"x", "y"} {
		workers.Go(func() {
			for i := range 200 {
				if err := r.Replace(owner, version(owner, i)...); err != nil {
					t.Error(err)
				}
			}
		})
		workers.Go(func() {
			for range 400 {
				if got := ask(r, owner+"/b", ""); got.Err != nil && code(got) != operation.NotFound || got.Err == nil && !strings.HasPrefix(string(got.Value), `"`+owner) {
					t.Errorf("%+v", got)
				}
			}
		})
	}
	workers.Go(func() {
		for range 200 {
			r.Snapshot()
			if e := ask(r, "stays", ""); string(e.Value) != `"stays"` {
				t.Errorf("%+v", e)
			}
		}
	})
	workers.Wait()
	r.Close()
	if n := live.Load(); n != 0 {
		t.Errorf("%d are not released", n)
	}
}
