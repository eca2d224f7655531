package chat

import (
	"context"
	"errors"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/lineedit"
	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// Form is a question of another one than the model. All of it may be a stranger's text.
type Form struct {
	Head  string   // one line
	Lines []string // what it is about; each may be of any length
	// Yes says what the answer y does; n always declines.
	Yes    string
	Fields []Field // what is asked after y
}

// Field is a value that a person types.
type Field struct {
	Prompt string
	// Check returns why a text is no such value; nil: it is. An empty text leaves the field out.
	Check func(text string) error
}

// ErrDeclined: a person does not answer a [Form]. ErrDismissed: they typed Esc, and answer neither yes nor no.
var (
	ErrDeclined  = errors.New("the user declines")
	ErrDismissed = errors.New("the user does not answer")
)

// Fill asks a person to fill a form in, in the turn that runs, and returns a text for each field.
func (t *Terminal) Fill(ctx context.Context, f Form) ([]string, error) {
	texts, err := dialogueOf(ctx, t, "", func(width int) ([]string, error) { return t.fill(ctx, f, width) })
	if errors.Is(err, errNoTurn) || errors.Is(err, lineedit.ErrEscape) {
		return nil, ErrDismissed
	}
	return texts, err
}

func (t *Terminal) fill(ctx context.Context, f Form, width int) (texts []string, err error) {
	q := question{
		head: show.Escaped(f.Head), no: "declines", options: "y " + f.Yes + " · n declines", prompt: "  answer? ",
		answers: map[string]agent.Verdict{"y": agent.Once, "yes": agent.Once, "n": agent.Refuse, "no": agent.Refuse},
	}
	for line := range strings.SplitSeq(strings.Join(f.Lines, "\n"), "\n") {
		q.lines = append(q.lines, hardWrap(escapedLine(line), width)...)
	}
	if verdict, _, err := t.put(ctx, q); err != nil {
		return nil, err
	} else if verdict != agent.Once {
		return nil, ErrDeclined
	}
	for _, field := range f.Fields {
		text, err := t.value(ctx, field)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// value reads a field until its text is good.
func (t *Terminal) value(ctx context.Context, f Field) (string, error) {
	width, _ := t.Editor.Size()
	about := show.Escaped(f.Prompt)
	prompt := "  " + about + ": "
	long := show.Columns(prompt) > width/2
	if long {
		prompt = "  > "
	}
	for {
		if long {
			t.options(about)
		}
		text, err := t.line(ctx, prompt)
		if err != nil {
			return "", err
		}
		text = strings.TrimSpace(text)
		wrong := f.Check(text)
		if wrong == nil {
			return text, nil
		}
		t.options(show.Clean(wrong.Error()))
	}
}
