package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/box"
	"github.com/indusagi/indus/internal/box/attack"
	"github.com/indusagi/indus/internal/box/broker"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

type boxRunFlags struct{ boxRules }

func newBoxRun(s show.Streams) *cobra.Command {
	var f boxRunFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "run -- COMMAND [ARG]...", SuggestFor: []string{"exec"},
		Short: "Run any program in a sandbox", Long: boxRunHelp,
		Args: command.Needs(1, "a command after --", ""),
	})
	f.addTo(cmd, "strict or package (default: strict)")
	return cmd
}

const boxRunHelp = `Run a program in a sandbox, with stdin, stdout and stderr of this command. It gets a home
of its own, which stays for the next run. Connections that are refused are reported.

A session:
  $ indus mcp sandbox run -- ls /home/me
  ls: cannot open directory '/home/me': Permission denied
  $ indus mcp sandbox run --host example.com:443 -- curl https://example.com/

Exit codes:
  0    the program ended with 0
  1    it ended with another code, or cannot be started in a sandbox
  2    usage: flags
  130  interrupted`

func (f *boxRunFlags) run(ctx context.Context, words []string, s show.Streams) error {
	home := filepath.Join(mcpconfig.StateDir(dryOptions()), "box", "run")
	row, err := f.row(words, home)
	if err != nil {
		return err
	}
	t, _ := row.Server.Transport.(config.Stdio)
	program, err := exec.LookPath(t.Command)
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return command.AsUsage(err)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	b, variables := t.Sandbox.Confine(nil, func(d broker.Denial) {
		s.Reportf("%s: %s %s: %s", d.Program, d.What, d.Target, cmp.Or(d.Reason, "not in its sandbox"))
	})
	env := append(variables, os.Environ()...)
	child, err := b.Start(program, words, &os.ProcAttr{Env: env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = child.Kill() })
	defer stop()
	state, err := child.Wait()
	if err == nil && !state.Success() {
		err = command.Said(fmt.Errorf("%s: %s", words[0], state))
	}
	return err
}

// row reads the flags as the row of a file, so that they have its checks and its words.
func (f *boxRunFlags) row(words []string, home string) (mcpconfig.Row, error) {
	for _, paths := range [][]string{f.read, f.write, f.socket} {
		for i, p := range paths {
			var err error
			if paths[i], err = (&addFlags{}).filePath(p); err != nil {
				return mcpconfig.Row{}, err
			}
		}
	}
	written, err := f.added([]byte(`"strict"`))
	if err != nil {
		return mcpconfig.Row{}, err
	}
	text := fmt.Sprintf(`{"servers": {"run": {"command": %q, "sandbox": %s}}}`, words[0], written)
	dir, err := os.MkdirTemp("", "indus-run-")
	if err != nil {
		return mcpconfig.Row{}, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "run.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return mcpconfig.Row{}, err
	}
	c, err := mcpconfig.Read(context.Background(), []string{file}, dryOptions())
	if err != nil {
		return mcpconfig.Row{}, err
	}
	r := c.Rows[0]
	if r.State != mcpconfig.Active {
		return r, command.Usagef("%s", command.JoinHint(r.Reason, r.Hint))
	}
	return r, nil
}

// insideVariable is set for the attacking program of sandbox attack.
const insideVariable = "INDUS_ATTACK"

func newBoxAttack(s show.Streams) *cobra.Command {
	var asJSON bool
	cmd := command.New(s, func(_ context.Context, _ []string, s show.Streams) error {
		if os.Getenv(insideVariable) != "" {
			attack.Inside(s.Out)
			return nil
		}
		return runAttacks(asJSON, s)
	}, cobra.Command{
		Use: "attack", SuggestFor: []string{"verify", "selftest"},
		Short: "Try to leave a sandbox on this machine", Long: boxAttackHelp,
		ValidArgsFunction: cobra.NoFileCompletions,
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array: name, what, outcome, expected, detail")
	return cmd
}

const boxAttackHelp = `Start a program in the strict sandbox that tries to leave it in about a hundred ways, and
print the outcome of each attempt. "reached" is expected for the ways that no sandbox of
indus stops: docs/sandbox.md begins with them. Nothing outside of a new temporary directory is changed.

A session:
  $ indus mcp sandbox attack
  ATTACK        OUTCOME  EXPECTED  WHAT
  read-symlink  denied   denied    read a file outside through a symbolic link
  …

Exit codes:
  0    each outcome is the expected one
  1    another one, or no sandbox can be made here
  2    usage: flags
  130  interrupted`

// attackResult is a row of the output of sandbox attack.
type attackResult struct {
	Name     string `json:"name"`
	What     string `json:"what"`
	Outcome  string `json:"outcome"`
	Expected string `json:"expected"`
	Detail   string `json:"detail,omitempty"`
}

func runAttacks(asJSON bool, s show.Streams) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv(insideVariable, "1"); err != nil {
		return err
	}
	b := &box.Box{Broker: func(writable []string) (box.Broker, error) {
		return broker.New(broker.Rules{Write: writable}, func(broker.Denial) {})
	}}
	if os.Geteuid() == 0 {
		b.User = "65534"
	}
	results, err := attack.Run([]string{own, "mcp", "sandbox", "attack"}, b)
	if err != nil {
		return err
	}
	rows, failed := []attackResult{}, []string{}
	t := &show.Table{}
	t.Add("ATTACK", "OUTCOME", "EXPECTED", "WHAT")
	for _, r := range results {
		rows = append(rows, attackResult{r.Name, r.What, string(r.Outcome), string(r.Expect), r.Detail})
		t.Add(r.Name, string(r.Outcome), string(r.Expect), r.What)
		if !r.Passed() {
			failed = append(failed, r.Name)
		}
	}
	if asJSON {
		err = s.WriteIndented(rows)
	} else {
		err = t.Write(s.Out)
	}
	if err == nil && len(failed) > 0 {
		err = errors.New("not as expected: " + strings.Join(failed, ", "))
	}
	return err
}
