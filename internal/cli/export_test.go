package cli

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

// Run is the command in this process.
func Run(ctx context.Context, args []string, in io.Reader, out, err io.Writer) int {
	return run(ctx, args, streams{in, out, err, &state{}})
}

// Root is the tree of commands.
func Root() *cobra.Command { return newRoot(streams{nil, io.Discard, io.Discard, &state{}}) }

// Typed is a parameter's value as it goes out.
func Typed(text, schema string) (string, error) {
	raw := json.RawMessage(schema)
	v, err := typed(text, shapeOf(raw).resolved())
	return string(v), err
}

// Signature is a tool's with that schema.
func Signature(schema string) string {
	return signature(toolbox.Descriptor{Name: "t", Schema: json.RawMessage(schema)})
}

// Object is what words mean for a tool with that schema.
func Object(words []string, whole, schema string, read func(string) ([]byte, error)) (object json.RawMessage, doubts []string, err error) {
	a, err := parseArguments(words, whole, read)
	if err != nil {
		return nil, nil, err
	}
	object, err = a.object(json.RawMessage(schema))
	if err != nil {
		return nil, nil, err
	}
	return object, a.unknown(json.RawMessage(schema)), nil
}

// IsUsage reports an error with the exit code of mistyped commands.
func IsUsage(err error) bool { return exitCode(err) == exitUsage }

// ExitCode is what a command ends with that a file's error is the end of.
func ExitCode(err error) int { return exitCode(usage("%w", err)) }

// ToolList is the rows that a file of tools holds.
func ToolList(raw []byte) ([]string, error) {
	l, err := readToolList("f.json", raw)
	if err != nil {
		return nil, err
	}
	var rows []string
	for _, row := range l.rows {
		rows = append(rows, string(row))
	}
	return rows, nil
}

// Remarks is what lint prints of the tools of a --json document: what mounting
// makes of them, or what the providers say of them.
func Remarks(tools string, asked bool) (string, error) {
	var all []toolReport
	if err := json.Unmarshal([]byte(tools), &all); err != nil {
		return "", err
	}
	of := mounting(false)
	if asked {
		of = asItIs(true, false)
	}
	var b strings.Builder
	err := printRemarks(&b, all, of)
	return b.String(), err
}

// FirstSentence, EscapeHarmful and Size are what they are called.
var (
	FirstSentence = firstSentence
	EscapeHarmful = escapeHarmful
	Size          = size
)

// Drawing is lines that are drawn anew, for the servers all on each screen.
type Drawing struct{ d drawing }

func (d *Drawing) Draw(w io.Writer, lines []string, width int) { d.d.draw(w, lines, width) }

// ServerLines are the live lines for servers.
func ServerLines(all []interop.EndpointStatus, height int) []string {
	return serverLines(all, 1500*time.Millisecond, height)
}

// Moment is a time that somebody typed.
var Moment = moment

// InWords is what changed from one tool object to another.
func InWords(before, after string) string {
	entry := func(tool string) ledger.Entry {
		c := &ledger.Capability{Name: "s__a", Server: "s", Tool: "a", Wire: toolbox.Wire{JSON: json.RawMessage(tool)}}
		return ledger.Entry{Op: ledger.Enroll, Server: "s", Tool: "a", Name: "s__a", Capability: c, Sum: tool}
	}
	return inWords(different(entry(before), entry(after)))
}

// OpenLedger opens a ledger, and waits so long for who holds it.
func OpenLedger(ctx context.Context, path string, wait time.Duration) (*ledger.File, error) {
	return openLedger(ctx, path, wait, nil)
}

// TellEvents writes lines about events.
func TellEvents(err io.Writer) func(interop.Event) {
	return tellEvents(streams{nil, io.Discard, err, &state{}})
}

// Follower follows one file, a look at a time.
type Follower struct{ *follower }

// Follow serves what the file says, and tells on err. The attachment is the caller's
// to close.
func Follow(ctx context.Context, path string, err io.Writer) (*Follower, *ledger.Attachment, error) {
	flags, cmd := &configFlags{}, &cobra.Command{}
	flags.add(cmd)
	if err := cmd.Flags().Set("mcp", path); err != nil {
		return nil, nil, err
	}
	began := time.Now()
	c, fault := flags.read(ctx)
	if fault != nil {
		return nil, nil, fault
	}
	s := streams{strings.NewReader(""), io.Discard, err, &state{}}
	local, fault := newBuiltins(false, s)
	if fault != nil {
		return nil, nil, fault
	}
	w := &follower{flags: flags, s: s, local: local}
	w.attached = ledger.Attach(ctx, ledger.Empty(), c.Servers(), &ledger.Options{Mount: &interop.MountOptions{Wait: -1}})
	w.begin(c, began)
	return &Follower{w}, w.attached, nil
}

// Look is what happens once a second.
func (f *Follower) Look(ctx context.Context) { f.tick(ctx) }

// Cells is how many columns a text takes, CutCells what fits.
var (
	Cells    = cells
	CutCells = cutCells
)

// Reflow is a help text on a terminal of so many columns.
var Reflow = reflow

// Table is rows on a terminal of so many columns.
func Table(rows [][]string, spare []string, room int) string {
	t := &table{spare: spare}
	for _, row := range rows {
		t.add(slices.Clone(row)...)
	}
	t.fit(room)
	return t.String()
}
