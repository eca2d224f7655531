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

type question struct {
	ctx    context.Context
	ask    agent.Ask
	always string
	answer chan answer
}

type answer struct {
	verdict agent.Verdict
	err     error
}

// Ask asks whether a call may run, in the turn that runs; always is what that answer would allow, "" where it cannot be given.
// Ctrl-C refuses the call and cancels the turn.
func (t *Terminal) Ask(ctx context.Context, a agent.Ask, always string) (agent.Verdict, error) {
	q := question{ctx, a, always, make(chan answer, 1)}
	select {
	case t.questions <- q:
	case <-ctx.Done():
		return agent.Refuse, ctx.Err()
	}
	select {
	case got := <-q.answer:
		return got.verdict, got.err
	case <-ctx.Done():
		return agent.Refuse, ctx.Err()
	}
}

// question shows a question, and waits for its answer.
func (t *Terminal) question(q question) (agent.Verdict, error) {
	t.hold()
	defer t.release()
	t.mu.Lock()
	t.turn.typing, t.turn.wrote = "", false // it was no answer, and what was on the screen is gone
	t.mu.Unlock()
	verdict, err := t.judge(q)
	t.mu.Lock()
	if c := t.turn.running(q.ask.Call.ID); c != nil {
		t.turn.asked[c.call.ID] = time.Since(c.began) // with the questions before this one
	}
	t.mu.Unlock()
	if errors.Is(err, lineedit.ErrInterrupt) || errors.Is(err, io.EOF) {
		return agent.Refuse, context.Canceled
	}
	return verdict, err
}

func (t *Terminal) judge(q question) (agent.Verdict, error) {
	width, _ := t.Editor.Size()
	t.write("")
	for i, line := range hardWrap(show.Escaped(q.ask.Call.Name)+" wants to run", width-3) {
		t.write(t.styled([]string{"? ", "  "}[min(i, 1)], yellow) + t.Bold(line))
	}
	if refused, err := t.showArguments(q); refused || err != nil {
		return agent.Refuse, err
	}
	options := "y once · n no · never"
	if q.always != "" {
		options = "y once · a always: " + show.Clean(q.always) + " · n no · never"
	}
	for {
		for _, line := range show.WrapTo(options, 2, width) {
			t.write(t.Dim(line))
		}
		text, err := t.reply(q.ctx, "  allow? ")
		if err != nil {
			return agent.Refuse, err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes", "once":
			return agent.Once, nil
		case "a", "always":
			if q.always != "" {
				return agent.Always, nil
			}
		case "n", "no":
			return agent.Refuse, nil
		case "never":
			return agent.Never, nil
		}
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

// showArguments shows all arguments. What is longer than the screen is shown page by page, so that nothing scrolls away unseen.
func (t *Terminal) showArguments(q question) (refused bool, err error) {
	width, height := t.Editor.Size()
	lines := argumentLines(q.ask, width-5)
	page := max(height-6, 3)
	for at := 0; at < len(lines); at += page {
		for _, line := range lines[at:min(at+page, len(lines))] {
			t.write("  " + t.Dim("│") + " " + line)
		}
		if at+page >= len(lines) {
			break
		}
		text, err := t.reply(q.ctx, fmt.Sprintf("  %d more lines: Enter shows them, s skips them, n refuses ", len(lines)-at-page))
		if err != nil {
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

// reply is a line that is typed after nothing was for a while.
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
			e := lineedit.Editor{In: t.Editor.In, Out: t.Editor.Out, Size: t.Editor.Size, Suspend: t.Editor.Suspend}
			return e.Read(ctx, prompt)
		}
	}
}
