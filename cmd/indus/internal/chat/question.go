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

// quiet is how long nothing may have been typed before an answer counts: who types the next prompt while a question
// appears does not answer it.
const quiet = 300 * time.Millisecond

// dialogue is what a person is asked. The goroutine that reads the keys runs it.
type dialogue struct {
	call string // the id of the call that waits for it; "": it is not known
	run  func() error
	done chan error
}

// errNoTurn: no turn runs, in which a person could be asked.
var errNoTurn = errors.New("no turn is running")

// dialogue runs a dialogue with a person in the turn that runs. If the person types Ctrl-C, that cancels the turn.
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
	case <-u.over:
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

// dialogueOf is a dialogue that has a value. run is given how wide the lines of a question may be.
func dialogueOf[T any](ctx context.Context, t *Terminal, call string, run func(width int) (T, error)) (none T, err error) {
	answers := make(chan T, 1) // a dialogue that ctx has ended may still run
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

// take gives the terminal to a dialogue.
func (t *Terminal) take(d dialogue) error {
	t.hold()
	defer t.release()
	t.mu.Lock()
	t.turn.typing, t.turn.wrote = "", false // it was no answer, and what was on the screen is gone
	t.mu.Unlock()
	err := d.run()
	t.mu.Lock()
	if c := t.turn.running(d.call); c != nil {
		t.turn.asked[c.call.ID] = time.Since(c.began) // with the dialogues before this one
	}
	t.mu.Unlock()
	if errors.Is(err, lineedit.ErrInterrupt) || errors.Is(err, io.EOF) {
		return context.Canceled
	}
	return err
}

// question is what one dialogue asks: its head, lines that are harmless, and what can be answered.
type question struct {
	head            string
	lines           []string
	no              string // what the answer no does, where it is given between two pages
	options, prompt string
	answers         map[string]agent.Verdict
}

// put asks a question until its answer is one of those that it has. reason is what stands behind no. If no is typed between two
// pages, or Esc, the verdict is agent.Refuse.
func (t *Terminal) put(ctx context.Context, q question) (verdict agent.Verdict, reason string, err error) {
	t.head(q.head)
	if refused, err := t.showLines(ctx, q.lines, q.no); refused || err != nil {
		return agent.Refuse, "", err
	}
	for {
		t.options(q.options)
		text, err := t.reply(ctx, q.prompt)
		if err != nil {
			return agent.Refuse, "", err
		}
		word, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
		word = strings.ToLower(word)
		// Behind another word than no it is not clear what is meant.
		if verdict, known := q.answers[word]; known && (reason == "" || word == "n" || word == "no") {
			return verdict, strings.TrimSpace(reason), nil
		}
	}
}

// Ask asks whether a call may run, in the turn that runs; always is what that answer would allow, "" where it cannot be given.
// Esc refuses the call, and Ctrl-C also cancels the turn. A reason for a refusal is an [agent.Refusal].
func (t *Terminal) Ask(ctx context.Context, a agent.Ask, always string) (agent.Verdict, error) {
	q := question{
		head: show.Escaped(a.Call.Name) + " wants to run", no: "refuses", prompt: "  allow? ", options: "y once · n no · n WHY · never",
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
		verdict, reason, err := t.put(ctx, q)
		switch {
		case errors.Is(err, lineedit.ErrEscape):
			return agent.Refuse, nil
		case reason != "":
			return verdict, agent.Refusal(fmt.Sprintf("the user refused this call, and says: %q. Do not repeat the same call", reason))
		}
		return verdict, err
	})
}

// head writes the first lines of a dialogue.
func (t *Terminal) head(text string) {
	width, _ := t.Editor.Size()
	t.write("")
	for i, line := range hardWrap(text, width-3) {
		t.write(t.styled([]string{"? ", "  "}[min(i, 1)], yellow) + t.Bold(line))
	}
}

// options writes the answers that a person can give.
func (t *Terminal) options(text string) {
	width, _ := t.Editor.Size()
	for _, line := range show.WrapTo(text, 2, width) {
		t.write(t.Dim(line))
	}
}

// write prints lines of the question, which has the terminal.
func (t *Terminal) write(lines ...string) {
	_, _ = io.WriteString(t.Editor.Out, strings.Join(lines, "\r\n")+"\r\n")
}

// showLines shows all lines. What is longer than the screen is shown page by page, so that nothing scrolls away unseen; n
// ends that, and does what no says.
func (t *Terminal) showLines(ctx context.Context, lines []string, no string) (refused bool, err error) {
	_, height := t.Editor.Size()
	page := max(height-6, 3)
	for at := 0; at < len(lines); at += page {
		for _, line := range lines[at:min(at+page, len(lines))] {
			t.write("  " + t.Dim("│") + " " + line)
		}
		if at+page >= len(lines) {
			break
		}
		text, err := t.reply(ctx, fmt.Sprintf("  %d more lines: Enter shows them, s skips them, n %s ", len(lines)-at-page, no))
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

// argumentLines are the owner of the tool, unless it is built in, and the arguments in full, in lines of so many columns. Each is a
// name with its value. A text of several lines stands below its name, as do the two of an edit.
func argumentLines(a agent.Ask, width int) (lines []string) {
	add := func(text string) { lines = append(lines, hardWrap(text, width)...) }
	if !a.Listed() {
		add("no server lists it now, so that nobody knows what it is")
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

// escapedLine is one line with what is not visible as escapes; a tab is blanks.
func escapedLine(s string) string {
	parts := strings.Split(s, "\t")
	for i, p := range parts {
		parts[i] = show.Escaped(p)
	}
	return strings.Join(parts, "    ")
}

// hardWrap breaks a line wherever it is too long.
func hardWrap(s string, width int) (lines []string) {
	line, used := "", 0
	for _, r := range s {
		n := show.Columns(string(r))
		if used+n > max(width, 8) {
			lines, line, used = append(lines, line), "", 0
		}
		line, used = line+string(r), used+n
	}
	return append(lines, line)
}

// reply is a line that is typed after nothing was for a while. Esc is [lineedit.ErrEscape].
func (t *Terminal) reply(ctx context.Context, prompt string) (string, error) {
	for pause := time.NewTimer(quiet); ; {
		select {
		case e, ok := <-t.Editor.In.Events:
			if !ok {
				return "", io.EOF
			}
			if e.Key == lineedit.KeyInterrupt {
				return "", lineedit.ErrInterrupt
			}
			pause.Reset(quiet)
		case <-ctx.Done():
			pause.Stop()
			return "", ctx.Err()
		case <-pause.C:
			return t.line(ctx, prompt)
		}
	}
}

// line is a line of a dialogue.
func (t *Terminal) line(ctx context.Context, prompt string) (string, error) {
	e := lineedit.Editor{In: t.Editor.In, Out: t.Editor.Out, Size: t.Editor.Size, Suspend: t.Editor.Suspend, EscapeEnds: true}
	return e.Read(ctx, prompt)
}
