package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/toolbox"
)

// memory is a Memory without a file.
type memory struct {
	mu      sync.Mutex
	allowed map[string]bool
	fail    error
}

func (m *memory) Allowed(a agent.Ask) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.allowed[agent.Fingerprint(a.Tool)]
}

func (m *memory) Allow(a agent.Ask) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.allowed == nil {
		m.allowed = map[string]bool{}
	}
	m.allowed[agent.Fingerprint(a.Tool)] = m.fail == nil
	return m.fail
}

func harmless(a agent.Ask) bool {
	return a.Tool.Server == "" && a.Tool.Annotations != nil && a.Tool.Annotations.ReadOnly
}

// TestPermissions covers tool × mode × answer: whether the first and the second call run, and how often a person is
// asked.
func TestPermissions(t *testing.T) {
	yes := true
	read := toolbox.Descriptor{Name: "read", Tool: "read", Annotations: &toolbox.Annotations{ReadOnly: true}}
	bash := toolbox.Descriptor{Name: "bash", Tool: "bash", Annotations: &toolbox.Annotations{Destructive: &yes}}
	// The server claims in every possible way that its tool is harmless.
	remote := toolbox.Descriptor{
		Name: "s__read", Server: "s", Tool: "read", Annotations: &toolbox.Annotations{ReadOnly: true},
		Wire: toolbox.Wire{Format: "mcp/modern", JSON: json.RawMessage(`{"name":"read","annotations":{"readOnlyHint":true}}`)},
	}
	snapshot := toolbox.Snapshot{Tools: []toolbox.Descriptor{read, bash, remote}, Pending: []string{"p"}}
	type outcome struct {
		runs      string // for two successive calls: "yes yes"
		questions int
	}
	const nobody, ask, all, allow = "nobody", "ask", "all", "allow"
	no := agent.Refuse
	tests := []struct {
		tool, mode string
		answer     agent.Verdict
		want       outcome
	}{
		{"read", nobody, no, outcome{"yes yes", 0}},
		{"read", ask, no, outcome{"yes yes", 0}},
		{"read", all, no, outcome{"yes yes", 0}},
		{"bash", nobody, no, outcome{"no no", 0}},
		{"bash", all, no, outcome{"yes yes", 0}},
		{"bash", allow, no, outcome{"yes yes", 0}},
		{"bash", ask, no, outcome{"no no", 2}},
		{"bash", ask, agent.Once, outcome{"yes yes", 2}},
		{"bash", ask, agent.Always, outcome{"yes yes", 1}},
		{"bash", ask, agent.Never, outcome{"no no", 1}},
		{"bash", ask, agent.Verdict(77), outcome{"no no", 2}},
		{"s__read", nobody, no, outcome{"no no", 0}},
		{"s__read", all, no, outcome{"yes yes", 0}},
		{"s__read", allow, no, outcome{"no no", 2}},
		{"s__read", ask, no, outcome{"no no", 2}},
		{"s__read", ask, agent.Once, outcome{"yes yes", 2}},
		{"s__read", ask, agent.Always, outcome{"yes yes", 1}},
		{"s__read", ask, agent.Never, outcome{"no no", 1}},
		{"p__read", nobody, no, outcome{"no no", 0}}, // its server is not connected
		{"p__read", all, no, outcome{"yes yes", 0}},
		{"p__read", allow, no, outcome{"yes yes", 0}},
		{"p__read", ask, no, outcome{"no no", 2}},
		{"p__read", ask, agent.Once, outcome{"yes yes", 2}},
		{"p__read", ask, agent.Always, outcome{"yes yes", 2}}, // without a definition, Always counts as Once
		{"p__read", ask, agent.Never, outcome{"no no", 1}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s %s %d", test.tool, test.mode, test.answer), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				p := &agent.Permissions{Harmless: harmless, Memory: &memory{}, All: test.mode == all}
				if test.mode == allow {
					p.Allow = []string{"ba[a-z]h", "p__*"}
				}
				if test.mode == ask || test.mode == allow {
					p.Ask = func(context.Context, agent.Ask) (agent.Verdict, error) {
						asked++
						return test.answer, nil
					}
				}
				guarded := agent.Guard(source(snapshot), p.Permit)
				var runs []string
				for range 2 {
					r, err := guarded.Do(t.Context(), toolbox.Call{Name: test.tool})
					if err != nil {
						t.Fatal(err)
					}
					runs = append(runs, map[bool]string{true: "no", false: "yes"}[r.IsError()])
				}
				if got := (outcome{strings.Join(runs, " "), asked}); got != test.want {
					t.Errorf("%+v, want %+v", got, test.want)
				}
			})
		})
	}
}

func TestAToolThatChangedIsAskedForAgain(t *testing.T) {
	asked := 0
	p := &agent.Permissions{Memory: &memory{}, Ask: func(context.Context, agent.Ask) (agent.Verdict, error) {
		asked++
		return agent.Always, nil
	}}
	for i, description := range []string{"Reads.", "Reads.", "Deletes.", "Deletes.", "Reads."} {
		src := source(toolbox.Snapshot{Tools: []toolbox.Descriptor{described("a", description)}})
		if r, err := agent.Guard(src, p.Permit).Do(t.Context(), toolbox.Call{Name: "a"}); err != nil || r.IsError() {
			t.Error(err)
		}
		if want := []int{1, 1, 2, 2, 2}[i]; asked != want {
			t.Errorf("%d: asked %d times, want %d", i, asked, want)
		}
	}
}

func TestAnAnswerThatCannotBeKept(t *testing.T) {
	full := errors.New("no space left")
	var reported error
	p := &agent.Permissions{
		Memory: &memory{fail: full}, Report: func(err error) { reported = err },
		Ask: func(context.Context, agent.Ask) (agent.Verdict, error) { return agent.Always, nil },
	}
	src := source(toolbox.Snapshot{Tools: []toolbox.Descriptor{described("a", "A.")}})
	r, err := agent.Guard(src, p.Permit).Do(t.Context(), toolbox.Call{Name: "a"})
	if err != nil || r.IsError() || !errors.Is(reported, full) || !strings.Contains(reported.Error(), "a is allowed this once only") {
		t.Error(err, reported)
	}
}

// gullible is a Memory that allows every call.
type gullible struct{ t *testing.T }

func (gullible) Allowed(agent.Ask) bool { return true }

func (g gullible) Allow(a agent.Ask) error {
	g.t.Errorf("it is to keep %q", a.Tool.Name)
	return nil
}

// TestANameIsNotATool checks that a tool of which only the name is known runs only if a person, a pattern or All allows
// it.
func TestANameIsNotATool(t *testing.T) {
	asked := 0
	p := &agent.Permissions{
		Memory: gullible{t}, Harmless: func(agent.Ask) bool { return true },
		Ask: func(context.Context, agent.Ask) (agent.Verdict, error) {
			asked++
			return agent.Always, nil
		},
	}
	guarded := agent.Guard(source(toolbox.Snapshot{Pending: []string{"s"}, Tools: []toolbox.Descriptor{described("a", "")}}), p.Permit)
	for i, name := range []string{"a", "s__a", "s__a"} {
		if r, err := guarded.Do(t.Context(), toolbox.Call{Name: name}); err != nil || r.IsError() || asked != i {
			t.Error(name, err, asked)
		}
	}
}

// TestAQuestionMayGoAwayAsItsTurnComes checks that the next questions are still asked.
func TestAQuestionMayGoAwayAsItsTurnComes(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			brief, cancel := context.WithCancel(t.Context())
			p := &agent.Permissions{Ask: func(context.Context, agent.Ask) (agent.Verdict, error) {
				time.Sleep(time.Minute)
				cancel()
				return agent.Once, nil
			}}
			var all sync.WaitGroup
			for i, ctx := range []context.Context{t.Context(), brief, t.Context()} {
				all.Go(func() {
					time.Sleep(time.Duration(i) * time.Second)
					_ = p.Permit(ctx, agent.Ask{Tool: described(fmt.Sprint(i), "")}) // must return
				})
			}
			all.Wait()
		})
	}
}

func TestAPatternIsAboutOneServer(t *testing.T) {
	for _, c := range []struct {
		pattern, server, name string
		want                  bool
	}{
		{"github__*", "github", "github__push", true},
		{"github__*", "github_", "github___push_4c26b136", false},
		{"github__*", "github__x", "github__x__push_deaeb273", false},
		{"github___push_4c26b136", "github_", "github___push_4c26b136", true},
		{"git*__pu*", "github", "github__push", true},
		{"*__push", "github", "github__push", true},
		{"*", "github_", "github___push_4c26b136", true},
		{"ba*", "", "bash", true},
	} {
		p := &agent.Permissions{Allow: []string{c.pattern}}
		if got := p.Allows(toolbox.Descriptor{Name: c.name, Server: c.server, Tool: "push"}); got != c.want {
			t.Errorf("%s allows %s of %q: %v", c.pattern, c.name, c.server, got)
		}
	}
}

func TestPatternsAreChecked(t *testing.T) {
	for _, good := range [][]string{nil, {"bash", "github__*", "fs__read_*", "[a-c]?"}} {
		if err := (&agent.Permissions{Allow: good}).Check(); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "[", "a[", "a*[b-", `a\`} {
		p := &agent.Permissions{Allow: []string{"good", bad}}
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q is no pattern", bad)) {
			t.Errorf("%q: %v", bad, err)
		}
		if err := p.Permit(t.Context(), agent.Ask{Tool: described(bad+"x", "")}); err == nil {
			t.Errorf("%q allows itself", bad)
		}
	}
}

// TestQuestionsTakeTurns checks that calls of one message ask one by one in their order. An answer may settle later
// questions. The question of a cancelled call is dropped.
func TestQuestionsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		asking := 0
		p := &agent.Permissions{Memory: &memory{}, Ask: func(ctx context.Context, a agent.Ask) (agent.Verdict, error) {
			if asking++; asking > 1 {
				t.Error("two questions at once")
			}
			defer func() { asking-- }()
			asked = append(asked, a.Call.ID)
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				return agent.Always, ctx.Err()
			}
			return map[string]agent.Verdict{"1": agent.Once, "2": agent.Always, "3": agent.Never, "4": agent.Refuse}[a.Call.ID], nil
		}}
		tools := toolbox.NewBox(nil, agent.Guard(registry(tool("a", nil), tool("b", nil), tool("c", nil), tool("d", nil)), p.Permit))
		m := model(calls("1", "a", "{}", "2", "b", "{}", "3", "c", "{}", "4", "d", "{}", "5", "b", "{}", "6", "c", "{}", "7", "a", "{}"))
		s := agent.New(agent.Options{Provider: m, Tools: tools})
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute+30*time.Second)
		defer cancel()
		if _, err := s.Prompt(ctx, "go"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"1", "2", "3", "4", "7"}, asked); diff != "" {
			t.Error(diff)
		}
		var short []string
		for _, out := range outputs(s.Messages()[2]) {
			short = append(short, out[:min(len(out), 39)])
		}
		want := []string{
			"a{}", "b{}", "!c did not run: the user does not allow", "!d did not run: the user refused this c",
			"b{}", "!c did not run: the user does not allow", "!a did not run: it was cancelled while ",
		}
		if diff := cmp.Diff(want, short); diff != "" {
			t.Error(diff)
		}
		if err := p.Permit(t.Context(), agent.Ask{Tool: described("b", ""), Call: toolbox.Call{ID: "1"}}); err != nil {
			t.Errorf("the next question: %v", err)
		}
	})
}

func TestQuestionsThatGoAwayLeaveTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		p := &agent.Permissions{Ask: func(_ context.Context, a agent.Ask) (agent.Verdict, error) {
			asked = append(asked, a.Tool.Name)
			time.Sleep(time.Minute)
			return agent.Once, nil
		}}
		gone, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i, ctx := range []context.Context{t.Context(), gone, gone, t.Context()} {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				err := p.Permit(ctx, agent.Ask{Tool: described(fmt.Sprint(i), "")})
				if (err != nil) != (ctx == gone) {
					t.Error(i, err)
				}
			})
		}
		time.Sleep(10 * time.Second)
		cancel()
		all.Wait()
		if !slices.Equal(asked, []string{"0", "3"}) {
			t.Error(asked)
		}
	})
}

func TestNobodyCanBeAsked(t *testing.T) {
	closed := errors.New("the terminal is closed")
	p := &agent.Permissions{Ask: func(context.Context, agent.Ask) (agent.Verdict, error) { return agent.Always, closed }}
	if err := p.Permit(t.Context(), agent.Ask{Tool: described("a", "")}); !errors.Is(err, closed) {
		t.Error(err)
	}
}
