package interop_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/validate"
	"github.com/indusagi/indus/toolbox"
)

// mountRow mounts one tool as its server lists it.
func mountRow(t *testing.T, row string, opts *interop.MountOptions) (*interop.Mounted, *puppet) {
	s := newPuppet()
	s.listRaw("[" + row + "]")
	opts.Endpoint = puppets(map[string]*puppet{"a": s})
	return mount(t, t.Context(), serversNamed("a"), opts), s
}

// The default is a schema that every provider accepts. The alternatives are the original
// and the seeds' form.
func TestMountProfile(t *testing.T) {
	const original = `{"$schema":"x","type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":"b"}},"required":["a"]}`
	const row = `{"name":"t","inputSchema":` + original + `}`
	for _, c := range []struct {
		profile *schema.Profile
		want    string
	}{
		{nil, `{"type":"object","properties":{"a":{"type":"string"`},
		{schema.Universal, `{"type":"object","properties":{"a":{"type":"string"`},
		{schema.Original, original},
		{schema.Seed, `{"type":"object","properties":{"a":{"type":"object","properties":{}}},"required":["a"]}`},
	} {
		m, _ := mountRow(t, row, &interop.MountOptions{Profile: c.profile})
		d := m.Box.Descriptors()[0]
		if !strings.HasPrefix(string(d.Parameters), c.want) {
			t.Errorf("%s: a model sees %s, want %s", c.profile.Name(), d.Parameters, c.want)
		}
		if found := schema.Check(d.Parameters, schema.Universal); c.profile == nil && found != nil {
			t.Errorf("%s: %v", d.Parameters, found)
		}
		if string(d.Schema) != original || string(d.Wire.JSON) != row {
			t.Errorf("%s: the owner's bytes are %s in %s", c.profile.Name(), d.Schema, d.Wire.JSON)
		}
	}
}

// A model's call that does not match the schema never reaches the server, unless
// Unvalidated is set.
func TestMountValidates(t *testing.T) {
	const row = `{"name":"t","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`
	call := toolbox.Call{Name: "a__t", Input: json.RawMessage(`{"n":"one"}`)}

	m, s := mountRow(t, row, &interop.MountOptions{})
	out := m.Box.Run(t.Context(), call)
	if want := "the arguments of a__t do not fit:\n/n: expected integer, got \"one\""; out.Text() != want || s.requestCount("call t") != 0 {
		t.Errorf("%q, and the server heard of it %d times", out.Text(), s.requestCount("call t"))
	}
	if misfit := (*validate.Error)(nil); !errors.As(out.Err, &misfit) {
		t.Errorf("the error is %v", out.Err)
	}
	if got, err := echoText(t.Context(), m.Box, "a__t", `{"n":"one"}`); got != "t" || s.requestCount("call t") != 1 {
		t.Errorf("the exact door says %q, %v", got, err)
	}
	m, s = mountRow(t, row, &interop.MountOptions{Unvalidated: true})
	if out := m.Box.Run(t.Context(), call); out.IsError || s.requestCount("call t") != 1 {
		t.Errorf("it was left to the server, and %s", out.Text())
	}
}

// For a server that has never connected nothing is validated, because its tools are not
// known.
func TestMountDoesNotValidateForServersThatAreConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPuppet()
		s.listRaw(`[{"name":"t","inputSchema":{"type":"object","required":["n"]}}]`)
		release := s.hold("initialize")
		m := interop.Mount(t.Context(), serversNamed("a"), &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(map[string]*puppet{"a": s})}, Wait: -1})
		defer m.Close()
		done := make(chan toolbox.Outcome, 1)
		go func() { done <- m.Box.Run(t.Context(), toolbox.Call{Name: "a__t"}) }()
		synctest.Wait()
		release()
		if out := <-done; out.IsError || out.Text() != "t" {
			t.Errorf("%+v", out)
		}
		if out := m.Box.Run(t.Context(), toolbox.Call{Name: "a__t"}); !strings.Contains(out.Text(), `missing required "n"`) {
			t.Errorf("known, and not checked: %s", out.Text())
		}
	})
}

// A mount with more tools than one request accepts logs one warning, once they are listed.
func TestMountTellsOfTooManyTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		many := make([]string, 129)
		for i := range many {
			many[i] = fmt.Sprint("t", i)
		}
		s := newPuppet(many...)
		logged := func() int { return strings.Count(log.String(), "there are 129 tools") }
		m := interop.Mount(t.Context(), serversNamed("a"), &interop.MountOptions{
			FleetOptions: interop.FleetOptions{Endpoint: puppets(map[string]*puppet{"a": s}), Logger: slog.New(slog.NewTextHandler(&log, nil))},
		})
		defer m.Close()
		for i, c := range []struct {
			tools []string
			told  int
		}{{many, 1}, {append([]string{"new"}, many[1:]...), 1}, {many[:128], 1}, {many, 2}} {
			s.list(c.tools...)
			s.notifyChanged()
			time.Sleep(5 * time.Second) // in bubble time
			synctest.Wait()
			if len(m.Box.Descriptors()) != len(c.tools) || logged() != c.told || (len(m.Box.Findings()) == 1) != (len(c.tools) > 128) {
				t.Errorf("list %d: told %d times of %d tools, want %d\n%s", i, logged(), len(c.tools), c.told, log.String())
			}
		}
		if diff := cmp.Diff(1, len(m.Box.Findings())); diff != "" {
			t.Error(diff)
		}
	})
}
