package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/chat"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/text"
)

// maxContext is the maximum size of stdin in a prompt, in bytes: a third of a conversation. The middle of a longer text
// is left out, because the start of a log describes it, and its end has the outcome.
const maxContext = 256 << 10

// answer implements "indus -p".
func (f *flags) answer(ctx context.Context, s show.Streams) error {
	stdinText, err := readContext(ctx, s)
	if err != nil {
		return err
	}
	x, err := openSession(ctx, f, s, nil, f.listener(s))
	if err != nil {
		return err
	}
	defer x.close()
	x.reportUnready()
	prompt, err := x.withResources(ctx, f.text)
	if err != nil {
		return err
	}
	if stdinText != "" {
		prompt += "\n\nThis stands on the standard input:\n" + stdinText
	}
	if f.asJSON {
		_ = show.PrintLine(s, sessionJSON{"session", x.id, x.provider.Name(), x.dir})
	}
	a, err := x.prompt(ctx, prompt)
	if err != nil {
		s.WroteJSON = false // with --json the error is the last line
		return err
	}
	if !f.asJSON && a.Text != "" {
		if err := s.WriteText(a.Text); err != nil {
			return err
		}
	}
	if why := shortcoming(a); why != "" {
		return &command.ExitError{Code: command.ExitFault, Err: errors.New(why)}
	}
	return nil
}

// sessionJSON is the first line of --json.
type sessionJSON struct {
	Type    string `json:"type"`
	Session string `json:"session"` // for --resume
	Model   string `json:"model"`
	Dir     string `json:"dir"`
}

// shortcoming returns the reason for which an answer is missing or incomplete, or "" if it is complete.
func shortcoming(a agent.Answer) string {
	switch {
	case a.Stop == agent.StopLength:
		return "the answer was cut: it is as long as the model may write"
	case a.Stop == agent.StopRefusal:
		return "the model, or its provider's filter, declines to answer"
	case strings.TrimSpace(a.Text) == "":
		return "the model's answer is empty"
	}
	return ""
}

// reportUnready reports the servers whose tools are missing in this answer.
func (x *session) reportUnready() {
	for _, st := range x.servers.Status() {
		switch {
		case st.Fault != nil:
			x.streams.Reportf("%s", command.Explain(st.Fault))
		case !st.Phase.Usable():
			x.streams.Reportf("%s is not ready after %s, and the answer goes without its tools: --wait waits longer", st.Server,
				x.flags.wait)
		}
	}
}

// listener returns the function that reports events. With JSON or on a terminal it reports all of them, and otherwise
// only retries, which cause delays.
func (f *flags) listener(s show.Streams) func(agent.Event) {
	_, terminal := show.Terminal(s.Err)
	switch {
	case f.asJSON:
		return func(e agent.Event) { _ = show.PrintLine(s, e) }
	case terminal || s.Verbose():
		return func(e agent.Event) { reportEvent(s, e) }
	}
	return func(e agent.Event) {
		if e.Kind == agent.EventRetry || e.Kind == agent.EventCompact && e.Text != "" { // a delay, or a loss
			reportEvent(s, e)
		}
	}
}

// maxShown limits the arguments and the result of a call in a reported line.
const maxShown = 120

// reportEvent reports an event in one line.
func reportEvent(s show.Streams, e agent.Event) {
	switch e.Kind {
	case agent.EventCall:
		s.Reportf("%s %s", e.Call.Name, show.Cut(show.CompactJSON(e.Call.Input), maxShown))
	case agent.EventResult:
		how := "ok"
		if e.Result.IsError {
			how = "failed: " + show.Cut(show.Clean(e.Result.Text()), maxShown)
		}
		s.Reportf("%s %s, %s", e.Call.Name, how, show.Duration(e.Took))
	case agent.EventRetry:
		s.Reportf("%s; it is asked again in %s", e.Text, show.Duration(e.Took))
	case agent.EventCompact:
		if e.Text != "" {
			s.Reportf("%s", chat.Refusal(e))
		} else {
			s.Reportf("the results of %s were taken out: the conversation was too long", show.Count(e.Dropped, "older call"))
		}
	}
}

// stdinSilence is the delay before a report that stdin is still being read. It may be a pipe that no program closes.
const stdinSilence = 3 * time.Second

// readContext returns the text of stdin, or "" if stdin is a terminal.
func readContext(ctx context.Context, s show.Streams) (string, error) {
	file, ok := s.In.(*os.File)
	if s.In == nil || ok && isCharacterDevice(file) {
		return "", nil
	}
	slow := time.AfterFunc(stdinSilence, func() {
		s.Reportf(
			"still reading stdin, which goes along with the prompt; where it is not meant, end the command with </dev/null")
	})
	defer slow.Stop()
	b, err := command.FileReader(ctx, s.In)("-")
	if err != nil {
		return "", fmt.Errorf("stdin: %w", err)
	}
	stdinText := strings.TrimRight(strings.ToValidUTF8(string(b), "\uFFFD"), "\n")
	if len(stdinText) <= maxContext {
		return stdinText, nil
	}
	s.Reportf("stdin holds %d bytes: the middle is left out, and %d go along", len(stdinText), maxContext)
	stdinText, _ = text.Middle(stdinText, stdinText, -len(stdinText), maxContext)
	return stdinText, nil
}

// isCharacterDevice reports whether stdin is a terminal, /dev/null or a similar device, or closed.
func isCharacterDevice(file *os.File) bool {
	info, err := file.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}
