package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/lineedit"
	"github.com/indusagi/indus/cmd/indus/internal/markdown"
	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// ErrLeave is returned if Ctrl-C is pressed again while a turn is being cancelled.
var ErrLeave = errors.New("left")

// turn is the state of the running turn. The terminal's mu guards it.
type turn struct {
	*Terminal
	began      time.Time
	text       markdown.Splitter
	calls      []*runningCall
	askTime    map[string]time.Duration // by the id of a call: how long it waited for the user
	waitReason string                   // the reason to wait; "" is the model
	afterText  bool                     // the last printed line was text
	typed      string                   // text typed during the turn
	ended      chan struct{}            // closed when the turn has ended
}

// runningCall is a call that has not ended.
type runningCall struct {
	call     agent.Call
	began    time.Time
	progress string
}

// Turn shows a turn while run runs, and returns the error of run. Ctrl-C or Esc cancels the context of run. A second
// Ctrl-C, with no other key between, returns [ErrLeave] without waiting for run. After Turn has returned, it prints
// nothing of the turn.
func (t *Terminal) Turn(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.mu.Lock()
	t.turn = &turn{
		Terminal: t, began: time.Now(), afterText: true, askTime: map[string]time.Duration{}, ended: make(chan struct{}),
	}
	t.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				t.restore() // the panic is unreadable in raw mode
				panic(p)
			}
		}()
		done <- run(ctx)
	}()
	defer t.endTurn()
	tick := time.NewTicker(show.DrawTick)
	defer tick.Stop()
	events := t.Editor.In.Events
	typed := false // a key was pressed since Ctrl-C
	for {
		select {
		case err := <-done:
			return err
		case d := <-t.dialogues:
			err := t.runDialogue(d)
			if errors.Is(err, context.Canceled) {
				cancel()
			}
			d.done <- err
		case <-tick.C:
			t.mu.Lock()
			t.draw()
			t.mu.Unlock()
		case e, ok := <-events:
			switch {
			case !ok: // the terminal is gone
				events = nil
				cancel()
			case e.Key == lineedit.KeyInterrupt && ctx.Err() != nil && !typed:
				return ErrLeave
			case e.Key == lineedit.KeyInterrupt || e.Key == lineedit.KeyEscape:
				typed = e.Key == lineedit.KeyEscape // Esc never leaves
				cancel()
				t.SetNote("cancelling; Ctrl-C again leaves at once")
			case e.Key == lineedit.KeySuspend:
				t.hold()
				t.Editor.Suspend()
				t.release()
			default:
				typed = true
				t.typeAhead(e)
			}
		}
	}
}

// endTurn prints the remaining text, and passes the typed text to the next prompt.
func (t *Terminal) endTurn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.turn
	if u == nil {
		return
	}
	close(u.ended)
	u.printBlocks(u.text.End())
	t.Editor.Begin = u.typed
	t.turn = nil
	t.canvas.Clear()
}

// SetNote sets the reason for which the turn waits. "" is the model.
func (t *Terminal) SetNote(note string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn != nil {
		t.turn.waitReason = show.Clean(note)
		t.draw()
	}
}

// maxTyping limits the text typed during a turn, in bytes.
const maxTyping = 8 << 10

// typeAhead collects text typed during a turn for the next prompt. It is never sent automatically.
func (t *Terminal) typeAhead(e lineedit.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch u := t.turn; {
	case e.Key == lineedit.KeyBackspace && u.typed != "":
		runes := []rune(u.typed)
		u.typed = string(runes[:len(runes)-1])
	case e.Key == lineedit.KeyKillBefore:
		u.typed = ""
	case e.Key == lineedit.KeyEnter || e.Key == lineedit.KeyNewline:
		u.typed += "\n"
	case e.Key == lineedit.KeyTab: // part of pasted text, because terminals do not mark pastes during a turn
		u.typed += "\t"
	case len(u.typed)+len(e.Text) <= maxTyping:
		u.typed += lineedit.PastedLines(e.Text)
	}
	t.draw()
}

// Hear shows an event of the turn.
func (t *Terminal) Hear(e agent.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn != nil {
		t.turn.handle(e)
	}
}

func (u *turn) handle(e agent.Event) {
	switch e.Kind {
	case agent.EventText:
		u.waitReason = ""
		u.printBlocks(u.text.Add(e.Text))
		return // the incomplete block is drawn at the next tick
	case agent.EventDraft:
		u.waitReason = "writing a call of " + show.Clean(e.Text)
	case agent.EventMessage:
		u.waitReason = ""
		u.printBlocks(u.text.End())
	case agent.EventCall:
		u.calls = append(u.calls, &runningCall{call: *e.Call, began: time.Now()})
	case agent.EventProgress:
		if c := u.runningCall(e.Call.ID); c != nil {
			lines := strings.Split(strings.TrimRight(e.Text, "\r\n"), "\n")
			c.progress = show.Clean(lines[len(lines)-1])
		}
	case agent.EventResult:
		u.calls = slices.DeleteFunc(u.calls, func(c *runningCall) bool { return c.call.ID == e.Call.ID })
		e.Took -= u.askTime[e.Call.ID]
		u.printLines(false, u.callLines(e)...)
	case agent.EventRetry:
		if u.text.End() != nil {
			u.printNotice("the answer broke off, and begins anew")
		}
		u.waitReason = ""
		u.printNotice(show.Clean(e.Text) + "; asked again in " + show.Duration(e.Took))
	case agent.EventCompact:
		if e.Text != "" {
			u.printNotice(Refusal(e))
		} else {
			u.printNotice("the conversation is long: the model no longer sees " + show.Count(e.Dropped, "older result"))
		}
	}
	u.draw()
}

func (u *turn) runningCall(id string) *runningCall {
	for _, c := range u.calls {
		if c.call.ID == id {
			return c
		}
	}
	return nil
}

// printBlocks prints blocks of text, with an empty line before each.
func (u *turn) printBlocks(blocks []string) {
	width, _ := u.Editor.Size()
	for _, b := range blocks {
		u.printLines(true, append([]string{""}, markdown.Render(b, width-1, u.Color)...)...)
	}
}

// printLines prints lines. An empty line separates text from calls.
func (u *turn) printLines(text bool, lines ...string) {
	if u.afterText && !text {
		lines = append([]string{""}, lines...)
	}
	u.afterText = text
	u.print(lines)
}

// printNotice prints a notice that is not part of the conversation.
func (u *turn) printNotice(text string) {
	width, _ := u.Editor.Size()
	var lines []string
	mark := "! "
	for _, line := range show.WrapTo(text, 0, width-3) {
		lines = append(lines, u.styled(mark, yellow)+u.Dim(line))
		mark = "  "
	}
	u.printLines(false, lines...)
}

// liveLines returns the redrawn lines: the end of the arriving block, the running calls, and the typed text.
func (u *turn) liveLines(width, height int) (lines []string) {
	now := time.Now()
	var below []string
	for _, c := range u.calls {
		line := u.spinner(now) + " " + u.callHead(c.call, width-20) + "  " +
			elapsedText(now.Sub(c.began)-u.askTime[c.call.ID])
		if c.progress != "" {
			line += "  " + u.Dim(c.progress)
		}
		below = append(below, line)
	}
	if room := max(1, height/3); len(below) > room {
		below = append(below[:room-1], u.Dim(fmt.Sprintf("… and %d more calls", len(below)-room+1)))
	}
	if len(u.calls) == 0 || u.waitReason != "" {
		note := cmp.Or(u.waitReason, "thinking")
		below = append(below, u.spinner(now)+" "+u.Dim(note+"  "+elapsedText(now.Sub(u.began))))
	}
	if u.typed != "" {
		below = append(below, u.Dim("> "+show.Clean(strings.ReplaceAll(u.typed, "\n", " ⏎ "))))
	}
	if rest := u.text.Rest(); rest != "" {
		lines = append([]string{""}, markdown.Render(rest, width-1, u.Color)...)
		if most := max(1, height-len(below)-2); len(lines) > most {
			lines = lines[len(lines)-most:]
		}
		lines = append(lines, "")
	}
	return append(lines, below...)
}

// spinner returns one frame of an animation that shows activity.
func (u *turn) spinner(now time.Time) string {
	frames := []string{"⠋", "⠙", "⠸", "⠴", "⠦", "⠇"}
	return u.styled(frames[now.Sub(u.began)/show.DrawTick%time.Duration(len(frames))], yellow)
}

// elapsedText formats an elapsed time in readable steps.
func elapsedText(d time.Duration) string {
	return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
}

// Refusal describes an EventCompact that a refusal of the provider caused.
func Refusal(e agent.Event) string {
	if e.Dropped == 0 {
		return "the provider refused its own reasoning, which the model no longer sees: " + show.Clean(e.Text)
	}
	return fmt.Sprintf("the provider refused %s with the result, which the model no longer sees: %s",
		show.Count(e.Dropped, "call"), show.Clean(e.Text))
}
