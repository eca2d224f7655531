package interop_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// A server's process has the configured variables, and of our own only the ones that
// every program needs. With InheritEnv, as in the seeds, it has all of them.
func TestAServersEnvironment(t *testing.T) {
	t.Setenv("INDUS_TEST_OURS", "secret")
	t.Setenv("INDUS_TEST_BOTH", "ours")
	f := fixture.New(t)
	for _, inherit := range []bool{false, true} {
		e := interop.NewEndpoint(config.Server{ID: "s", Transport: config.Stdio{
			Command: f.Path, Args: f.Args, InheritEnv: inherit,
			Env: []config.Pair{{Name: "INDUS_TEST_BOTH", Value: config.NewSecret("theirs")}},
		}}, nil)
		defer e.Close()
		if err := e.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := e.Invoke(t.Context(), "process", json.RawMessage(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		var process struct{ Env []string }
		if err := json.Unmarshal([]byte(*r.Blocks()[0].Text), &process); err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(process.Env, "INDUS_TEST_OURS=secret"); got != inherit {
			t.Errorf("with InheritEnv %v it knows our secret: %v", inherit, got)
		}
		if !slices.Contains(process.Env, "INDUS_TEST_BOTH=theirs") {
			t.Errorf("with InheritEnv %v it does not know what was configured", inherit)
		}
		if !slices.ContainsFunc(process.Env, func(s string) bool { return len(s) > 5 && s[:5] == "PATH=" }) {
			t.Errorf("with InheritEnv %v it has no PATH", inherit)
		}
	}
}
