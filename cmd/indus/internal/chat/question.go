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

// Ask asks whether a call may run, in the turn that runs; always is what that answer would allow, "" where it cannot be given.
// Esc refuses the call, and Ctrl-C also cancels the turn. A reason for a refusal is an [agent.Refusal].
func (t *Terminal) Ask(ctx context.Context, a agent.Ask, always string) (agent.Verdict, error) {
	answers := make(chan agent.Verdict, 1)
	err := t.dialogue(ctx, a.Call.ID, func() error {
		verdict, err := t.judge(ctx, a, always)
		answers <- verdict
		return err
	})
	if err != nil {
		return agent.Refuse, err
	}
	return <-answers, nil
}

func (t *Terminal) judge(ctx context.Context, a agent.Ask, always string) (agent.Verdict, error) {
	width, _ := t.Editor.Size()
	t.head(show.Escaped(a.Call.Name) + " wants to run")
	if refused, err := t.showLines(ctx, argumentLines(a, width-5), "refuses"); refused || err != nil {
		return agent.Refuse, err
	}
	options := "y once · n no · n WHY · never"
	if always != "" {
		options = "y once · a always: " + show.Clean(always) + " · n no · n WHY · never"
	}
	for {
		t.options(options)
		text, err := t.reply(ctx, "  allow? ")
		if errors.Is(err, lineedit.ErrEscape) {
			return agent.Refuse, nil
		} else if err != nil {
			return agent.Refuse, err
		}
		word, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
		switch word = strings.ToLower(word); {
		case reason != "" && (word == "n" || word == "no"):
			return agent.Refuse, agent.Refusal(fmt.Sprintf("the user refused this call, and says: %q. Do not repeat the same call", strings.TrimSpace(reason)))
		case reason != "": // it is not clear what is meant
		case word == "y", word == "yes", word == "once":
			return agent.Once, nil
		case always != "" && (word == "a" || word == "always"):
			return agent.Always, nil
		case word == "n", word == "no":
			return agent.Refuse, nil
		case word == "never":
			return agent.Never, nil
		}
	}
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

// whose says whose tool it is; "": it is built in.
func whose(a agent.Ask) string {
	switch {
	case !a.Listed():
		return "no server lists it now, so that nobody knows what it is"
	case a.Tool.Server != "":
		return fmt.Sprintf("%s of the server %s", show.Escaped(a.Tool.Tool), show.Escaped(a.Tool.Server))
	}
	return ""
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

// argumentLines are whose tool it is, and the arguments in full, in lines of so many columns. Each is a name with its value; a text of several
// lines stands below its name.
func argumentLines(a agent.Ask, width int) (lines []string) {
	if of := whose(a); of != "" {
		lines = hardWrap(of, width)
	}
	edit := a.Tool.Server == "" && a.Call.Name == "edit"
	for _, arg := range argumentsOf(a.Call.Input) {
		name := show.Escaped(arg.name)
		if arg.name != "" {
			name += ": "
		}
		text := strings.Split(arg.text, "\n")
		if len(text) == 1 && !edit {
			lines = append(lines, hardWrap(name+escapedLine(text[0]), width)...)
			continue
		}
		mark := "  "
		switch {
		case edit && arg.name == "old":
			mark = "- "
		case edit && arg.name == "new":
			mark = "+ "
		case edit:
			lines = append(lines, hardWrap(name+escapedLine(arg.text), width)...)
			continue
		}
		if name != "" {
			lines = append(lines, strings.TrimRight(name, " "))
		}
		for _, line := range text {
			lines = append(lines, hardWrap(mark+escapedLine(line), width)...)
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
