package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/chat"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/lineedit"
	"github.com/indusagi/indus/cmd/indus/internal/markdown"
	"github.com/indusagi/indus/cmd/indus/internal/show"
)

const (
	// startWait limits the wait for servers at the start. Servers that are ready by then are in the briefing.
	startWait = 500 * time.Millisecond
	// leaveInterval is the time in which a second Ctrl-C leaves.
	leaveInterval = 2 * time.Second
)

// conversation is the state of "indus" on a terminal.
type conversation struct {
	*session
	screen        *chat.Terminal
	printedStates map[string]string // by server: the last printed state
	waited        bool              // the first turn has waited for servers
	interrupted   time.Time         // the time of the last Ctrl-C, at the prompt or in a turn
	resources     []command.Beside  // for completion, as of listed
	listed        time.Time
}

// converse implements "indus" on a terminal. It ends with /quit, Ctrl-D, a second Ctrl-C or its context. SIGHUP also
// ends it.
func converse(parent context.Context, f *flags, s show.Streams) error {
	ctx, stop := signal.NotifyContext(parent, syscall.SIGHUP)
	defer stop()
	in, _ := show.Terminal(s.In)
	out, _ := show.Terminal(s.Out)
	t, err := chat.Open(in, out)
	if err != nil {
		return err
	}
	defer t.Close()
	s.Err = t
	c := &conversation{screen: t, printedStates: map[string]string{}}
	if err := c.open(ctx, f, s); err != nil {
		if _, isFirst := errors.AsType[missingKey](err); isFirst && f.model == "" {
			s.Reportf("to begin, type: indus mcp import, or indus mcp add, and then indus serve")
			s.Reportf("indus -h lists all commands. An agent to talk with needs a model:")
		}
		return err
	}
	defer c.closeSession()
	c.greet()
	t.Editor.Complete = func(line string) []string { return c.complete(ctx, line) }
	if path := command.StatePath("history.jsonl"); path != "" {
		t.Editor.History = lineedit.OpenHistory(path)
	}
	for {
		leave, err := c.step(ctx)
		switch {
		case leave, ctx.Err() != nil && parent.Err() == nil: // the terminal is gone, so an error could not be read
			return nil
		case err != nil:
			return err
		}
	}
}

// open opens the session. It waits for servers only for an unnoticeable time. Ctrl-C cancels it.
func (c *conversation) open(ctx context.Context, f *flags, s show.Streams) error {
	quick := *f
	quick.wait = min(f.wait, startWait)
	err := c.screen.Turn(ctx, func(ctx context.Context) (err error) {
		c.screen.SetNote("starting")
		x, err := openSession(context.WithoutCancel(ctx), &quick, s, &person{c.ask, c.screen.Fill}, c.screen.Hear)
		if err == nil && ctx.Err() != nil {
			x.close()
			return ctx.Err()
		}
		c.session = x
		return err
	})
	quick.wait = f.wait
	return err
}

// closeSession closes the session, and shows a note if that takes long.
func (c *conversation) closeSession() {
	err := c.screen.Turn(context.Background(), func(context.Context) error {
		c.screen.SetNote("ending what was started")
		c.close()
		return nil
	})
	if err == nil && c.transcript != nil && len(c.agent.Messages()) > 0 {
		c.screen.Print(c.screen.Dim("go on with: indus --resume=" + c.id))
	}
}

// step reads a text and runs it as a command or a prompt.
func (c *conversation) step(ctx context.Context) (leave bool, err error) {
	c.reportServers()
	text, err := c.screen.ReadLine(ctx, "> ")
	switch {
	case errors.Is(err, lineedit.ErrInterrupt):
		last := c.interrupted
		c.interrupted = time.Now()
		if !errors.Is(err, lineedit.ErrTyped) && time.Since(last) < leaveInterval {
			return true, nil
		}
		c.screen.Print(c.screen.Dim("Ctrl-C again leaves, as Ctrl-D does"))
		return false, nil
	case errors.Is(err, io.EOF):
		return true, nil
	case err != nil:
		return false, err
	}
	c.interrupted = time.Time{}
	if err := c.screen.Editor.History.Add(text); err != nil {
		c.streams.Reportf("not kept in the history: %s", err)
	}
	text = strings.TrimRightFunc(text, unicode.IsSpace) // leading blanks may be the indentation of code
	switch words := strings.TrimSpace(text); {
	case words == "":
		return false, nil
	case isCommand(words):
		return c.command(ctx, words)
	}
	return c.runPrompt(ctx, text)
}

// runPrompt runs one turn for a prompt.
func (c *conversation) runPrompt(ctx context.Context, text string) (leave bool, err error) {
	unsent := false
	leave, err = c.turn(ctx, func(ctx context.Context) (agent.Answer, error) {
		if err := c.waitForServers(ctx); err != nil {
			return agent.Answer{}, err
		}
		whole, err := c.withResources(ctx, text)
		unsent = err != nil
		if unsent {
			return agent.Answer{}, err
		}
		return c.prompt(ctx, whole)
	})
	if unsent && c.screen.Editor.Begin == "" {
		c.screen.Editor.Begin = text // the user can correct it
	}
	return leave, err
}

// turn runs a turn of the model and prints its end.
func (c *conversation) turn(
	ctx context.Context, run func(context.Context) (agent.Answer, error),
) (leave bool, err error) {
	began := time.Now()
	var a agent.Answer
	err = c.screen.Turn(ctx, func(ctx context.Context) (err error) {
		a, err = run(ctx)
		return err
	})
	switch {
	case errors.Is(err, chat.ErrLeave):
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, context.Canceled):
		c.interrupted = time.Now() // so that a second Ctrl-C leaves, even if the first has already taken effect
		c.screen.Print("", c.screen.Dim("cancelled"))
		return false, nil
	case err != nil:
		c.screen.Print("")
		c.streams.Reportf("%s", err)
		return false, nil
	}
	if why := shortcoming(a); why != "" {
		c.streams.Reportf("%s", why)
	}
	c.screen.Print("", c.screen.Dim(usageText(a, time.Since(began))), "")
	return false, nil
}

// waitForServers waits in the first turn for servers that are still connecting, for at most --wait.
func (c *conversation) waitForServers(ctx context.Context) error {
	if c.waited {
		return ctx.Err()
	}
	c.waited = true
	limited, cancel := context.WithTimeout(ctx, c.flags.wait)
	defer cancel()
	if late := command.Connecting(c.servers.Status()); len(late) > 0 {
		c.screen.SetNote("waiting for " + show.List(late, show.MaxNamed, "servers"))
		_ = c.servers.Fleet.Settle(limited)
		c.screen.SetNote("")
	}
	return ctx.Err()
}

// ask asks for permission. It is an [asker].
func (c *conversation) ask(ctx context.Context, a agent.Ask) (agent.Verdict, error) {
	return c.screen.Ask(ctx, a, alwaysText(a))
}

// alwaysText describes the calls that the answer "always" allows, or returns "" if it allows only this call.
func alwaysText(a agent.Ask) string {
	shown, whole := exactCall(a.Call)
	switch {
	case !a.Listed():
		return ""
	case a.Tool.Server != "":
		return "every call of it in this directory, until it changes"
	case whole == "":
		return "every " + a.Call.Name + " in this directory"
	case slices.Contains(fileTools, a.Call.Name):
		return "this very call, in this directory"
	case a.Call.Name == "webfetch":
		return "every page of " + shown + ", asked for in this directory"
	}
	return "this very command, in this directory"
}

// usageText describes the tokens, steps and time of a turn.
func usageText(a agent.Answer, took time.Duration) string {
	in := fmt.Sprintf("%d tokens in", a.Usage.Input)
	if a.Usage.CacheRead > 0 {
		in += fmt.Sprintf(" (%d of them cached)", a.Usage.CacheRead)
	}
	return fmt.Sprintf("%s, %d out, %s, %s", in, a.Usage.Output, show.Count(a.Steps, "step"),
		show.Duration(took.Round(100*time.Millisecond)))
}

// greet prints the model and the servers. In a resumed session it also prints the model's last message.
func (c *conversation) greet() {
	c.screen.Print(c.screen.Bold("indus") + "  " + show.Clean(c.provider.Name()) + "  " + c.screen.Dim(show.Clean(c.dir)))
	if messages := c.agent.Messages(); len(messages) > 0 {
		c.screen.Print(c.screen.Dim("goes on after " + show.Count(len(messages), "message") +
			", with these words at the end:"))
		width, _ := c.screen.Editor.Size()
		c.screen.Print(markdown.Render(lastWords(messages), width-1, c.screen.Color)...)
	}
	if line := c.serversLine(); line != "" {
		c.screen.Print(line)
	}
	c.screen.Print(c.screen.Dim("/help lists the commands; Ctrl-C cancels, Ctrl-D exits"), "")
}

// lastWords returns the model's last text.
func lastWords(messages []agent.Message) string {
	for _, m := range slices.Backward(messages) {
		if text := m.Text(); m.Role == agent.Assistant && text != "" {
			return text
		}
	}
	return ""
}

// serversLine lists the servers with their numbers of tools, and the servers that are not ready.
func (c *conversation) serversLine() string {
	var ready, late []string
	for _, st := range c.servers.Status() {
		switch id := show.Clean(st.Server); {
		case st.Phase.Usable():
			ready = append(ready, fmt.Sprintf("%s (%s)", id, show.Count(st.Tools, "tool")))
			c.printedStates[st.Server] = serverNews(st)
		case st.Fault == nil:
			late = append(late, id)
		}
	}
	var parts []string
	if ready != nil {
		parts = append(parts, "servers: "+show.List(ready, 5, "servers"))
	}
	if late != nil {
		parts = append(parts, "still connecting: "+show.List(late, 5, "servers"))
	}
	return strings.Join(parts, "; ")
}

// reportServers prints changes of servers since the last prompt.
func (c *conversation) reportServers() {
	for _, st := range c.servers.Status() {
		news := serverNews(st)
		if news == "" || news == c.printedStates[st.Server] {
			continue
		}
		c.printedStates[st.Server] = news
		if st.Fault != nil {
			c.streams.Reportf("%s", command.Explain(st.Fault))
		} else {
			c.streams.Reportf("%s", news)
		}
	}
}
