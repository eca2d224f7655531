package chat

import (
	"context"
	"errors"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/lineedit"
	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// Form is a question that does not come from the model. All its text may be untrusted.
type Form struct {
	Head  string   // one line
	Lines []string // the subject of the question, in lines of any length
	// Yes describes the effect of the answer y. The answer n always declines.
	Yes    string
	Fields []Field // the values to ask for after y
}

// Field is a value that the user types.
type Field struct {
	Prompt string
	// Check returns the reason for which a text is invalid, or nil. An empty text leaves the field out.
	Check func(text string) error
}

// ErrDeclined is returned if the user declines a [Form]. ErrDismissed is returned if the user presses Esc instead of an
// answer.
var (
	ErrDeclined  = errors.New("the user declines")
	ErrDismissed = errors.New("the user does not answer")
)

// Fill asks the user to fill in a form during the running turn. It returns a text for each field.
func (t *Terminal) Fill(ctx context.Context, f Form) ([]string, error) {
	texts, err := dialogueOf(ctx, t, "", func(width int) ([]string, error) { return t.fill(ctx, f, width) })
	if errors.Is(err, errNoTurn) || errors.Is(err, lineedit.ErrEscape) {
		return nil, ErrDismissed
	}
	return texts, err
}

func (t *Terminal) fill(ctx context.Context, f Form, width int) (texts []string, err error) {
	q := question{
		head: show.Escaped(f.Head), refusal: "declines", options: "y " + f.Yes + " · n declines", prompt: "  answer? ",
		answers: map[string]agent.Verdict{"y": agent.Once, "yes": agent.Once, "n": agent.Refuse, "no": agent.Refuse},
	}
	for line := range strings.SplitSeq(strings.Join(f.Lines, "\n"), "\n") {
		q.lines = append(q.lines, show.HardWrap(escapedLine(line), max(width, minWidth))...)
	}
	if verdict, _, err := t.ask(ctx, q); err != nil {
		return nil, err
	} else if verdict != agent.Once {
		return nil, ErrDeclined
	}
	for _, field := range f.Fields {
		text, err := t.readField(ctx, field)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// readField reads a field until its text is valid.
func (t *Terminal) readField(ctx context.Context, f Field) (string, error) {
	width, _ := t.Editor.Size()
	about := show.Escaped(f.Prompt)
	prompt := "  " + about + ": "
	long := show.Columns(prompt) > width/2
	if long {
		prompt = "  > "
	}
	for {
		if long {
			t.writeOptions(about)
		}
		text, err := t.readLine(ctx, prompt)
		if err != nil {
			return "", err
		}
		text = strings.TrimSpace(text)
		wrong := f.Check(text)
		if wrong == nil {
			return text, nil
		}
		t.writeOptions(show.Clean(wrong.Error()))
	}
}
