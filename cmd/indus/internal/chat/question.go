package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/lineedit"
	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// quietTime is the time without keys before an answer counts. Without it, a user who types the next prompt while a
// question appears would answer it by mistake.
const quietTime = 300 * time.Millisecond

// dialogue is one interaction with the user. The goroutine that reads the keys runs it.
type dialogue struct {
	call string // the id of the call that waits for it; "" if unknown
	run  func() error
	done chan error
}

// errNoTurn is returned if no turn is running, so that the user cannot be asked.
var errNoTurn = errors.New("no turn is running")

// dialogue runs a dialogue with the user during the running turn. Ctrl-C cancels the turn.
func (t *Terminal) dialogue(ctx context.Context, call string, run func() error) error {
	t.mu.Lock()
	u := t.turn
	t.mu.Unlock()
	if u == nil {
		return errNoTurn
	}
	d := dialogue{call, run, make(chan error, 1)}
	select {
	case t.dialogues <- d:
	case <-u.ended:
		return errNoTurn
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-d.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dialogueOf runs a dialogue that returns a value. run receives the maximum width of a question's lines.
func dialogueOf[T any](
	ctx context.Context, t *Terminal, call string, run func(width int) (T, error),
) (none T, err error) {
	answers := make(chan T, 1) // run may still send its answer after ctx has ended
	err = t.dialogue(ctx, call, func() error {
		width, _ := t.Editor.Size()
		answer, err := run(width - 5)
		answers <- answer
		return err
	})
	if err != nil {
		return none, err
	}
	return <-answers, nil
}

// runDialogue gives the terminal to a dialogue while it runs.
func (t *Terminal) runDialogue(d dialogue) error {
	t.hold()
	defer t.release()
	t.mu.Lock()
	t.turn.typed, t.turn.afterText = "", false // typed text is not an answer, and the screen has changed
	t.mu.Unlock()
	err := d.run()
	t.mu.Lock()
	if c := t.turn.runningCall(d.call); c != nil {
		t.turn.askTime[c.call.ID] = time.Since(c.began) // includes earlier dialogues of the call
	}
	t.mu.Unlock()
	if errors.Is(err, lineedit.ErrInterrupt) || errors.Is(err, io.EOF) {
		return context.Canceled
	}
	return err
}

// question is the content of one dialogue: its head, its lines without control characters, and its answers.
type question struct {
	head            string
	lines           []string
	refusal         string // the effect of the answer no, shown between two pages
	options, prompt string
	answers         map[string]agent.Verdict
}

// ask asks a question until the user gives one of its answers. reason is the text after no. If the user answers no
// between two pages or presses Esc, the verdict is agent.Refuse.
func (t *Terminal) ask(ctx context.Context, q question) (verdict agent.Verdict, reason string, err error) {
	t.writeHead(q.head)
	if refused, err := t.showLines(ctx, q.lines, q.refusal); refused || err != nil {
		return agent.Refuse, "", err
	}
	for {
		t.writeOptions(q.options)
		text, err := t.readReply(ctx, q.prompt)
		if err != nil {
			return agent.Refuse, "", err
		}
		word, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
		word = strings.ToLower(word)
		// After a word other than no, more text makes the answer ambiguous.
		if verdict, known := q.answers[word]; known && (reason == "" || word == "n" || word == "no") {
			return verdict, strings.TrimSpace(reason), nil
		}
	}
}

// Ask asks during the running turn whether a call may run. The parameter always describes the effect of the answer
// "always". If that answer is not available, it is "". Esc refuses the call. Ctrl-C also cancels the turn. A refusal
// with a reason is an [agent.Refusal].
func (t *Terminal) Ask(ctx context.Context, a agent.Ask, always string) (agent.Verdict, error) {
	q := question{
		head: show.Escaped(a.Call.Name) + " wants to run", refusal: "refuses", prompt: "  allow? ",
		options: "y once · n no · n WHY · never",
		answers: map[string]agent.Verdict{
			"y": agent.Once, "yes": agent.Once, "once": agent.Once, "n": agent.Refuse, "no": agent.Refuse, "never": agent.Never,
		},
	}
	if always != "" {
		q.options = "y once · a always: " + show.Clean(always) + " · n no · n WHY · never"
		q.answers["a"], q.answers["always"] = agent.Always, agent.Always
	}
	return dialogueOf(ctx, t, a.Call.ID, func(width int) (agent.Verdict, error) {
		q.lines = argumentLines(a, width)
		verdict, reason, err := t.ask(ctx, q)
		switch {
		case errors.Is(err, lineedit.ErrEscape):
			return agent.Refuse, nil
		case reason != "":
			return verdict, agent.Refusal(fmt.Sprintf(
				"the user refused this call, with the reason: %q. Do not repeat the same call",
				reason))
		}
		return verdict, err
	})
}

// writeHead writes the first lines of a dialogue.
func (t *Terminal) writeHead(text string) {
	width, _ := t.Editor.Size()
	t.write("")
	mark := "? "
	for _, line := range show.HardWrap(text, max(width-3, minWidth)) {
		t.write(t.styled(mark, yellow) + t.Bold(line))
		mark = "  "
	}
}

// writeOptions writes the possible answers.
func (t *Terminal) writeOptions(text string) {
	width, _ := t.Editor.Size()
	for _, line := range show.WrapTo(text, 2, width) {
		t.write(t.Dim(line))
	}
}

// write prints lines of the question, which holds the terminal.
func (t *Terminal) write(lines ...string) {
	_, _ = io.WriteString(t.Editor.Out, strings.Join(lines, "\r\n")+"\r\n")
}

// showLines shows all lines. Text that is longer than the screen is shown page by page, so that no line scrolls away
// unread. The answer n stops there and refuses the question.
func (t *Terminal) showLines(ctx context.Context, lines []string, refusal string) (refused bool, err error) {
	_, height := t.Editor.Size()
	page := max(height-6, 3)
	for at := 0; at < len(lines); at += page {
		for _, line := range lines[at:min(at+page, len(lines))] {
			t.write("  " + t.Dim("│") + " " + line)
		}
		if at+page >= len(lines) {
			break
		}
		text, err := t.readReply(ctx,
			fmt.Sprintf("  %d more lines: Enter shows them, s skips them, n %s ", len(lines)-at-page, refusal))
		if errors.Is(err, lineedit.ErrEscape) {
			return true, nil
		} else if err != nil {
			return true, err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "s":
			return false, nil
		case "n", "no", "never":
			return true, nil
		}
	}
	return false, nil
}

// argumentLines returns the owner of the tool, unless it is built in, and all arguments, in lines of at most width
// columns. Each argument is a name with its value. A text of several lines is below its name, and so are the old and
// new texts of an edit.
func argumentLines(a agent.Ask, width int) (lines []string) {
	add := func(text string) { lines = append(lines, show.HardWrap(text, max(width, minWidth))...) }
	if !a.Listed() {
		add("no server lists it now, so its definition is unknown")
	} else if a.Tool.Server != "" {
		add(fmt.Sprintf("%s of the server %s", show.Escaped(a.Tool.Tool), show.Escaped(a.Tool.Server)))
	}
	edit := a.Tool.Server == "" && a.Call.Name == "edit"
	for _, arg := range argumentsOf(a.Call.Input) {
		name := show.Escaped(arg.name)
		if arg.name != "" {
			name += ": "
		}
		mark := map[string]string{"old": "- ", "new": "+ "}[arg.name]
		switch {
		case !edit && strings.Contains(arg.text, "\n"):
			mark = "  "
		case !edit || mark == "":
			add(name + escapedLine(arg.text))
			continue
		}
		if name != "" {
			lines = append(lines, strings.TrimRight(name, " "))
		}
		for line := range strings.SplitSeq(arg.text, "\n") {
			add(mark + escapedLine(line))
		}
	}
	return lines
}

// escapedLine returns a line with invisible characters as escapes, and tabs as blanks.
func escapedLine(s string) string {
	return strings.ReplaceAll(show.EscapedExcept(s, "\t"), "\t", "    ")
}

// minWidth is the minimum width of the lines of a question.
const minWidth = 8

// readReply reads a line after a short time without keys. Esc returns [lineedit.ErrEscape].
func (t *Terminal) readReply(ctx context.Context, prompt string) (string, error) {
	for pause := time.NewTimer(quietTime); ; {
		select {
		case e, ok := <-t.Editor.In.Events:
			if !ok {
				return "", io.EOF
			}
			if e.Key == lineedit.KeyInterrupt {
				return "", lineedit.ErrInterrupt
			}
			pause.Reset(quietTime)
		case <-ctx.Done():
			pause.Stop()
			return "", ctx.Err()
		case <-pause.C:
			return t.readLine(ctx, prompt)
		}
	}
}

// readLine reads one line of a dialogue.
func (t *Terminal) readLine(ctx context.Context, prompt string) (string, error) {
	e := lineedit.Editor{
		In: t.Editor.In, Out: t.Editor.Out, Size: t.Editor.Size, Suspend: t.Editor.Suspend, EscapeEnds: true,
	}
	return e.Read(ctx, prompt)
}
