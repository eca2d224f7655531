package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

type replayFlags struct {
	besideFlags
	server string
	yes    bool
}

func newReplay(s show.Streams) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Ask again what indus serve --tap has recorded, and compare the answers",
		Long:  replayHelp,
		Args:  command.AtMost(1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.Usagef("mcp replay needs the file of an indus serve --tap FILE")
			}
			return f.replay(cmd.Context(), args[0], s)
		},
	}
	f.add(cmd, "print a JSON array")
	f.onServer(cmd, &f.server, "the one server that is asked")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "call tools without asking")
	return cmd
}

const replayHelp = `Send what went to servers while "indus serve --tap FILE" ran to them again, in order and
one by one, and say where they answer otherwise. Of the same list, prompt or resource the
last answer counts. What is not asked for is said: what somebody has to answer meanwhile,
what belongs to a session or a task, and what had a secret in it.

Calls may change something: they are made once you have said so, or with --yes. That
fields of the hop differ (ttlMs, cacheScope, resultType, and what is MCP's in _meta)
does not count.

Usage:
  indus mcp replay [FLAG]... FILE

Flags:
  --server SERVER  only what went to this one; where nothing did, all goes to it
  --yes            call tools without asking; without it, and where there is no
                   terminal to ask on, no tool is called
  --json           print a JSON array: an object a request, with server, method, name,
                   outcome (same, differs, skipped), reason and differences [{path,
                   was, now}]` + command.ServerFlagsHelp + `

A session:
  $ indus serve --tap session.jsonl
  $ indus mcp replay session.jsonl
  same     everything  tools/list
  differs  everything  prompts/get args-prompt
      /messages/0/content/text: was "What's weather in Pune?", is "How is it in Pune?"
  skipped  everything  tools/call echo: tools are called with --yes
  indus: 1 is the same, 1 differs, 1 was skipped

Exit codes:
  0    all answers are the same
  1    some differ, or something unforeseen
  2    usage: flags and files, and no such SERVER
  4    a server cannot be reached
  130  interrupted`

// recorded is a request to a server, and what it answered.
type recorded struct {
	Server      string       `json:"server"`
	Method      string       `json:"method"`
	Name        string       `json:"name,omitempty"`
	Outcome     string       `json:"outcome"`
	Reason      string       `json:"reason,omitempty"`
	Differences []difference `json:"differences,omitempty"`

	params, answer json.RawMessage // answer: the result, or {"error": …}
}

const (
	outcomeSame, outcomeDiffers, outcomeSkipped = "same", "differs", "skipped"
)

// maxReplayed is how many requests of a file are sent.
const maxReplayed = 10_000

// readRecording finds the requests to servers in a file of indus serve --tap.
func readRecording(file []byte) (all []*recorded, err error) {
	open, n := map[uint64]*recorded{}, 0
	for line := range strings.Lines(string(file)) {
		n++
		var in struct {
			Goes, Server, Method string
			LeftOut              int64
			Message              struct {
				ID                    uint64
				Params, Result, Error json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(line), &in); err != nil {
			if strings.TrimSpace(line) == string(wire.Quote(secret.Mask)) {
				continue
			}
			return nil, fmt.Errorf("line %d is none of indus serve --tap: %w", n, err)
		}
		m := in.Message
		switch {
		case m.ID == 0:
		case in.Goes == "indus->server" && m.Result == nil && m.Error == nil:
			r := &recorded{Server: in.Server, Method: in.Method, params: m.Params}
			if in.LeftOut > 0 {
				r.Reason = "it was too large to be recorded"
			}
			r.Name, _ = protocol.LookupString(m.Params, "name")
			if r.Name == "" {
				r.Name, _ = protocol.LookupString(m.Params, "uri")
			}
			if open[m.ID] = r; len(all) < maxReplayed {
				all = append(all, r)
			}
		case in.Goes == "server->indus" && open[m.ID] != nil && m.Result != nil:
			open[m.ID].answer = m.Result
		case in.Goes == "server->indus" && open[m.ID] != nil && m.Error != nil:
			open[m.ID].answer, _ = wire.Rewrite(json.RawMessage(`{}`), wire.Edit{Key: "error", Value: m.Error})
		}
	}
	return all, nil
}

// repeats are the methods that may be asked again at any time.
var repeats = []string{
	"tools/list", "prompts/list", "resources/list", "resources/templates/list", "prompts/get", "resources/read", "completion/complete", "skills/list", "skills/get",
}

// whyNot says why a request cannot be sent again; "" if it can.
func (r *recorded) whyNot() string {
	asks, _ := wire.Lookup(r.answer, "resultType")
	switch {
	case r.Method != protocol.MethodToolsCall && !slices.Contains(repeats, r.Method):
		return "it belongs to a session"
	case r.answer == nil:
		return "it was not answered, or with too much to be recorded"
	case strings.Contains(string(r.params), secret.Mask):
		return "it had a secret"
	case hasMember(r.params, "inputResponses"), hasMember(r.params, "requestState"), asks != nil && string(asks) != `"complete"`:
		return "it is part of an exchange"
	}
	return ""
}

// chosen leaves out what --server does, and all but the last of the same questions.
func (f *replayFlags) chosen(all []*recorded) (out []*recorded) {
	if f.server != "" && slices.ContainsFunc(all, func(r *recorded) bool { return r.Server == f.server }) {
		all = slices.DeleteFunc(all, func(r *recorded) bool { return r.Server != f.server })
	}
	last := map[string]int{}
	for i, r := range all {
		r.Server = cmp.Or(f.server, r.Server)
		if r.params, _ = wire.Rewrite(r.params, wire.Edit{Key: "_meta"}); r.params == nil {
			r.params = json.RawMessage(`{}`)
		}
		last[r.key(i)] = i
	}
	for i, r := range all {
		if last[r.key(i)] == i {
			out = append(out, r)
		}
	}
	return out
}

func (r *recorded) key(i int) string {
	if r.Method == protocol.MethodToolsCall {
		return fmt.Sprint(i)
	}
	return r.Server + "\x00" + r.Method + "\x00" + string(r.params)
}

func (f *replayFlags) replay(ctx context.Context, file string, s show.Streams) error {
	text, err := command.FileReader(ctx, s.In)(file)
	if err != nil {
		return err
	}
	all, err := readRecording(text)
	if err != nil {
		return command.Usagef("%s: %w", file, err)
	}
	if all = f.chosen(all); len(all) == 0 {
		return command.Usagef("%s: nothing was sent to a server", file)
	}
	var ids []string
	for _, r := range all {
		if r.Reason = cmp.Or(r.Reason, r.whyNot()); !slices.Contains(ids, r.Server) {
			ids = append(ids, r.Server)
		}
	}
	servers, err := f.Choose(ctx, ids, command.IsServer, s)
	if err != nil {
		return err
	}
	if err := f.mayCall(ctx, all, s); err != nil {
		return err
	}
	b, err := f.connect(ctx, servers, s)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, r := range all {
		if r.Outcome = outcomeSkipped; r.Reason != "" {
			continue
		}
		now, err := b.repeat(ctx, r)
		if err != nil {
			return command.Explain(err)
		}
		now = s.Masked(now) // as what was recorded
		r.Outcome = outcomeSame
		if r.Differences = differences(r.answer, now); r.Differences != nil {
			r.Outcome = outcomeDiffers
		}
	}
	return f.report(all, s)
}

// mayCall leaves calls out unless somebody wants them.
func (f *replayFlags) mayCall(ctx context.Context, all []*recorded, s show.Streams) error {
	var names []string
	calls := 0
	for _, r := range all {
		if name := r.Server + interop.Qualifier + r.Name; r.Method == protocol.MethodToolsCall && r.Reason == "" {
			if calls++; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if f.yes || calls == 0 {
		return nil
	}
	reason := "tools are called with --yes"
	_, in := show.Terminal(s.In)
	_, out := show.Terminal(s.Err)
	if in && out {
		reason = "no tool is called"
		fmt.Fprintf(s.Err, "make %s again, which may change something: %s? [y/N] ", show.Count(calls, "call"), show.Clean(show.List(names, 12, "tools")))
		select {
		case <-ctx.Done():
			fmt.Fprintln(s.Err)
			return ctx.Err()
		case answer := <-s.Lines():
			if a := strings.ToLower(strings.TrimSpace(answer)); a == "y" || a == "yes" {
				return nil
			}
		}
	}
	for _, r := range all {
		if r.Method == protocol.MethodToolsCall {
			r.Reason = cmp.Or(r.Reason, reason)
		}
	}
	return nil
}

// repeat is what a server answers now. A call is made as indus mcp call does it.
func (b *besideServers) repeat(ctx context.Context, r *recorded) (now json.RawMessage, err error) {
	if r.Method == protocol.MethodToolsCall {
		arguments, _ := wire.Lookup(r.params, "arguments")
		var result *toolbox.Result
		if result, err = b.Box.Do(ctx, toolbox.Call{Name: interop.QualifiedName(r.Server, r.Name), Input: arguments}); err == nil {
			now = result.Wire().JSON
		}
	} else {
		now, err = b.Fleet.Request(ctx, r.Server, interop.Message{Method: r.Method, Params: r.params})
	}
	if rpc, ok := errors.AsType[*interop.RPCError](err); ok {
		said, err := json.Marshal(map[string]any{"error": map[string]any{"code": rpc.Code, "message": rpc.Message, "data": rpc.Data}})
		return said, err
	}
	return now, err
}

func (f *replayFlags) report(all []*recorded, s show.Streams) error {
	n := map[string]int{}
	var p show.Page
	for _, r := range all {
		n[r.Outcome]++
		line := strings.TrimSpace(r.Method + " " + r.Name)
		if r.Reason != "" {
			line += ": " + r.Reason
		}
		p.Printf("%-7s  %s  %s\n", r.Outcome, r.Server, line)
		for _, d := range r.Differences {
			p.Printf("    %s\n", d)
		}
	}
	var err error
	if f.asJSON {
		err = s.WriteIndented(all)
	} else {
		err = s.Print(&p)
	}
	s.Reportf("%s the same, %s, %s skipped", count(n[outcomeSame], "is", "are"), count(n[outcomeDiffers], "differs", "differ"), count(n[outcomeSkipped], "was", "were"))
	if err == nil && n[outcomeDiffers] > 0 {
		err = command.Said(fmt.Errorf("%d answers differ", n[outcomeDiffers]))
	}
	return err
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
