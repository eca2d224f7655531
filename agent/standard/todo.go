package standard

import (
	"context"
	"sync"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

// todo is the task list of one session.
type todo struct {
	mu    sync.Mutex
	tasks []todoTask
}

type todoInput struct {
	Tasks []todoTask `json:"tasks,omitempty" jsonschema:"maxItems=50" jsonschema_description:"The whole list as it is to be from now on, in order. Without it the list is shown as it is."`
}

type todoTask struct {
	Text   string `json:"text" jsonschema:"minLength=1,maxLength=300" jsonschema_description:"What is to be done, in one line."`
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=done" jsonschema_description:"How far it is."`
}

// tool returns the tool "todo".
func (l *todo) tool() toolbox.Tool {
	return define("todo",
		"Keep the list of what is to be done, for work of several steps. "+
			"Each call gives the whole list, which replaces the one before. "+
			"Mark a task in_progress when you begin it, one at a time, and done when it is. The user sees the list.",
		l.run)
}

func (l *todo) run(_ context.Context, tc *toolbox.Context, in todoInput) (*toolbox.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in.Tasks != nil {
		l.tasks = in.Tasks
	}
	p, done := newPage(tc), 0
	for i, t := range l.tasks {
		mark := "[ ] "
		switch t.Status {
		case "done":
			mark = "[x] "
			done++
		case "in_progress":
			mark = "[>] "
		}
		if !p.add(mark + text.OneLine(t.Text)) {
			p.note("%d of %d tasks are shown", i, len(l.tasks))
			break
		}
	}
	if len(l.tasks) == 0 {
		p.note("the list is empty")
	} else {
		p.note("%d of %d done", done, len(l.tasks))
	}
	return p.result(), nil
}
