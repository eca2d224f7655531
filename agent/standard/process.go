package standard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

const (
	// startWait is the default number of seconds that start waits for output. Most commands that cannot run
	// report it within that time.
	startWait = 1
	// maxLine is the number of bytes of a command line that are shown.
	maxLine = 200
)

type processInput struct {
	Action  string `json:"action" jsonschema:"enum=start,enum=list,enum=poll,enum=stop" jsonschema_description:"start: run command; poll: what id has written since the last time; stop: end id; list: all of them."`
	Command string `json:"command,omitempty" jsonschema_description:"The command line to start."`
	Dir     string `json:"dir,omitempty" jsonschema_description:"Where it starts, relative to the working directory or absolute inside it; the working directory by default."`
	ID      string `json:"id,omitempty" jsonschema_description:"Which process, as start has named it."`
	Wait    *int   `json:"wait,omitempty" jsonschema:"minimum=0,maximum=60" jsonschema_description:"For how many seconds start and poll wait for output or the end; 1 by default for start, 0 for poll."`
}

// tool returns the tool "process".
func (s *processes) tool() toolbox.Tool {
	return define("process",
		"Run commands that go on while you do other things: servers, watchers, long builds. "+
			"start runs a command line and gives its id; poll gives what it has written since the last poll "+
			"(of much the beginning and the end), and with wait waits for that; "+
			"stop ends it with all that it has started; list shows all. "+
			"Processes have no input, and end with the session. Use bash for commands that end by themselves.",
		s.run)
}

func (s *processes) run(ctx context.Context, tc *toolbox.Context, in processInput) (*toolbox.Result, error) {
	if in.Action == "list" {
		return s.list(tc), nil
	}
	p, err := s.processOf(tc, in)
	if err != nil {
		return nil, err
	}
	switch in.Action {
	case "start":
		err = p.wait(ctx, time.Duration(valueOr(in.Wait, startWait))*time.Second)
	case "poll":
		err = p.wait(ctx, time.Duration(valueOr(in.Wait, 0))*time.Second)
	case "stop":
		err = p.stop(ctx)
	}
	if err != nil {
		return nil, err
	}
	return p.takeOutput(tc), nil
}

// processOf returns the process of a call. For start it starts the process.
func (s *processes) processOf(tc *toolbox.Context, in processInput) (*process, error) {
	if in.Action != "start" {
		return s.find(in.ID)
	}
	dir, err := in.prepare(tc)
	if err != nil {
		return nil, err
	}
	return s.start(tc, toolbox.Command{Line: in.Command, Dir: dir})
}

// prepare returns the directory for start, or the reason why nothing can be started.
func (in processInput) prepare(tc *toolbox.Context) (dir string, err error) {
	if in.Command == "" {
		return "", errors.New("start needs a command")
	}
	return startDir(tc, in.Dir)
}

func (s *processes) list(tc *toolbox.Context) *toolbox.Result {
	shown := newPage(tc)
	all := s.snapshot()
	for i, p := range all {
		if !shown.add(fmt.Sprintf("%s\t%s\t%s", p.id, p.state(), p.line())) {
			shown.note("%d of %d processes are shown", i, len(all))
			break
		}
	}
	if len(all) == 0 {
		shown.note("no process was started")
	}
	return shown.result()
}

// takeOutput returns the output of a process since the last call, and its state.
func (p *process) takeOutput(tc *toolbox.Context) *toolbox.Result {
	state := p.state() // before the output, which is complete once the process has ended
	shown := withNotes(p.out.take(newPage(tc).room), fmt.Sprintf("%s: %s", p.id, state))
	if p.failed() {
		return toolbox.ErrorResult(shown)
	}
	return textResult("%s", shown)
}

// line returns the command line as one line.
func (p *process) line() string { return text.Clip(text.OneLine(p.command.Line), maxLine) }
