package chat

import (
	"context"
	"errors"
	"strings"

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
	filled := make(chan []string, 1)
	err := t.dialogue(ctx, "", func() error {
		texts, err := t.fill(ctx, f)
		filled <- texts
		if errors.Is(err, lineedit.ErrEscape) {
			return ErrDismissed
		}
		return err
	})
	switch {
	case errors.Is(err, errNoTurn):
		return nil, ErrDismissed
	case err != nil:
		return nil, err
	}
	return <-filled, nil
}

func (t *Terminal) fill(ctx context.Context, f Form) (texts []string, err error) {
	width, _ := t.Editor.Size()
	t.head(show.Escaped(f.Head))
	var lines []string
	for _, paragraph := range f.Lines {
		for line := range strings.SplitSeq(paragraph, "\n") {
			lines = append(lines, hardWrap(escapedLine(line), width-5)...)
		}
	}
	if refused, err := t.showLines(ctx, lines, "declines"); err != nil {
		return nil, err
	} else if refused {
		return nil, ErrDeclined
	}
	for answered := false; !answered; {
		t.options("y " + f.Yes + " · n declines")
		text, err := t.reply(ctx, "  answer? ")
		if err != nil {
			return nil, err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			answered = true
		case "n", "no":
			return nil, ErrDeclined
		}
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
