package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/chat"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/history"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
)

const slashHelp = `/mcp                   list the servers, their state and number of tools
/mcp connect SERVER    start a server that is not running
/mcp disconnect SERVER end a server; its tools are removed at once
/mcp tools SERVER      list its tools, and which run without asking
/mcp log [SERVER]      list changes of tools since this session began
/tools                 list all tools, and which run without asking
/prompts [NAME ARG=…]  list the prompts of servers; with a name, send one
/result [N]            print the last tool result in full, or an earlier one
/model [NAME]          show the model; with PROVIDER/NAME, change it
/compact               replace the conversation with a summary
/clear                 begin a new conversation
/quit                  exit, like Ctrl-D

@SERVER:URI in a prompt attaches a resource of a server.
Enter sends; Alt-Enter, or \ and Enter, begin a new line. Tab completes. The
arrows up and down recall earlier prompts, and Ctrl-R searches them.
Esc or Ctrl-C cancels the turn; Ctrl-C twice exits.`

// slashNames maps the commands to the words that can follow them.
var slashNames = map[string][]string{
	"/help": nil, "/mcp": {"connect", "disconnect", "tools", "log"}, "/tools": nil, "/model": nil, "/quit": nil,
	"/prompts": nil, "/result": nil, "/compact": nil, "/clear": nil,
}

// isCommand reports whether a text is a command, and not a prompt that begins with a path.
func isCommand(text string) bool {
	word := strings.Fields(text)[0]
	return word[0] == '/' && !strings.Contains(word[1:], "/") && !strings.Contains(text, "\n")
}

// command runs a command and prints its errors.
func (c *conversation) command(ctx context.Context, text string) (leave bool, err error) {
	words := strings.Fields(text)
	name, args := words[0], words[1:]
	most := map[string]int{"/mcp": 2, "/model": 1, "/result": 1, "/prompts": len(args)}[name]
	switch _, known := slashNames[name]; {
	case !known:
		err = fmt.Errorf("no command %s%s; /help lists them", name,
			command.DidYouMean(name, slices.Sorted(maps.Keys(slashNames))))
	case len(args) > most:
		err = fmt.Errorf("%s: %q is too much; /help shows its arguments", name, args[most])
	case name == "/help":
		c.printText(slashHelp)
	case name == "/mcp":
		err = c.mcp(ctx, args)
	case name == "/tools":
		c.printText(c.toolTable("", true))
	case name == "/model":
		err = c.model(args)
	case name == "/prompts":
		leave, err = c.prompts(ctx, strings.TrimPrefix(text, name))
	case name == "/result":
		err = c.printResult(args)
	case name == "/compact":
		leave, err = c.turn(ctx, func(ctx context.Context) (agent.Answer, error) {
			a, err := c.agent.Compact(ctx)
			return a, c.explain(err)
		})
	case name == "/clear":
		if err = c.restart(ctx); err == nil {
			c.printText("this is another conversation; the one before is kept")
		}
	case name == "/quit":
		return true, nil
	}
	switch {
	case errors.Is(err, chat.ErrLeave):
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil && !errors.Is(err, context.Canceled):
		c.streams.Reportf("%s", err)
	}
	return leave, nil
}

// printText prints text without control characters.
func (c *conversation) printText(text string) {
	c.screen.Print(strings.Split(strings.TrimRight(text, "\n")+"\n", "\n")...)
}

// tableText formats a table for the width of this terminal.
func (c *conversation) tableText(t *show.Table) string {
	width, _ := c.screen.Editor.Size()
	return t.In(width)
}

// model shows the model, or changes it.
func (c *conversation) model(args []string) error {
	if len(args) > 0 {
		if err := c.useModel(args[0]); err != nil {
			return err
		}
	}
	about := fmt.Sprintf("%d tokens of context", cmp.Or(c.flags.contextOf(c.target), agent.DefaultContext))
	if c.target.address != "" {
		about += ", at " + secret.URL(c.target.address)
	}
	c.printText(show.Clean(c.provider.Name()) + "\n" + show.Clean(about))
	return nil
}

// printResult prints a whole result: the last one, or an earlier one by its distance from the last.
func (c *conversation) printResult(args []string) error {
	back := 0
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 0 {
			return fmt.Errorf("/result %s: it is a number, 1 for the one before the last", args[0])
		}
		back = n
	}
	var all []*agent.Result
	for _, m := range c.agent.Messages() {
		for _, p := range m.Parts {
			if p.Result != nil {
				all = append(all, p.Result)
			}
		}
	}
	if back >= len(all) {
		return fmt.Errorf("there is no such result: this conversation has %s", show.Count(len(all), "result"))
	}
	r := all[len(all)-1-back]
	c.screen.Print(append([]string{c.screen.Bold(show.Clean(r.Name))}, append(chat.ResultLines(r), "")...)...)
	return nil
}

// mcp implements /mcp and its subcommands.
func (c *conversation) mcp(ctx context.Context, args []string) error {
	if c.flags.noTools {
		return errNoServers
	}
	words := append(slices.Clone(args), "", "")
	verb, server := words[0], words[1]
	if verb != "" && verb != "log" && server == "" && slices.Contains(slashNames["/mcp"], verb) {
		return fmt.Errorf("/mcp %s: which server? %s", verb, strings.Join(c.serverNames(verb), ", "))
	}
	switch verb {
	case "":
		c.printText(c.serverTable())
	case "connect":
		return c.connectNow(ctx, server)
	case "disconnect":
		if err := c.disconnect(server); err != nil {
			return err
		}
		delete(c.printedStates, server)
		c.printText(show.Clean(server) + " is disconnected")
	case "tools", "log":
		if _, ok := c.server(server); !ok && server != "" {
			return fmt.Errorf("no server %q is connected%s", server, command.DidYouMean(server, c.serverNames(verb)))
		}
		if verb == "tools" {
			c.printText(c.toolTable(server, false))
			return nil
		}
		return c.printLog(ctx, server)
	default:
		return fmt.Errorf("/mcp %s: there is connect, disconnect, tools and log%s", verb,
			command.DidYouMean(verb, slashNames["/mcp"]))
	}
	return nil
}

// connectNow connects a server and waits for it for a limited time. The outcome is printed before the next prompt.
func (c *conversation) connectNow(ctx context.Context, server string) error {
	return c.screen.Turn(ctx, func(ctx context.Context) error {
		c.screen.SetNote("connecting " + server)
		delete(c.printedStates, server)
		if err := c.connect(ctx, server); err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, max(c.flags.wait, defaultWait))
		defer cancel()
		_ = c.servers.Fleet.Settle(limited)
		return nil
	})
}

// printLog prints the ledger's entries of this run.
func (c *conversation) printLog(ctx context.Context, server string) error {
	limited, cancel := context.WithTimeout(ctx, command.LockWait)
	defer cancel()
	_ = c.servers.Flush(limited) // entries that are not written yet are still in the ledger in memory
	entries := c.servers.Ledger().Log()
	if c.log != nil { // the file also has lost servers and the reasons
		all, err := c.log.Read(limited, 0)
		if err != nil {
			return err
		}
		entries = slices.DeleteFunc(all, func(e ledger.Entry) bool { return e.Run != c.servers.Run })
	}
	c.printText(cmp.Or(history.Text(entries, server), "nothing has happened"))
	return nil
}

// serverNews describes the state of a server in one line, or returns "" while it has not listed its tools.
func serverNews(st interop.EndpointStatus) string {
	switch {
	case st.Fault != nil:
		return st.Server + " is down" // stays the same through all attempts
	case st.Phase.Usable() && st.Tools > 0: // without tools it has not listed them yet, or has none
		return st.Server + " is ready: " + show.Count(st.Tools, "tool")
	}
	return ""
}

// serverTable returns a table of the connected servers and of configured servers that are not connected.
func (c *conversation) serverTable() string {
	t := &show.Table{Spare: []string{"WHAT"}}
	t.Add("SERVER", "PHASE", "TOOLS", "WHAT")
	held := map[string]int{}
	for _, e := range c.servers.Changed() {
		if e.Op == ledger.Hold {
			held[e.Server]++
		}
	}
	for _, st := range c.servers.Status() {
		var details []string
		if st.Fault != nil {
			details = append(details, strings.TrimPrefix(st.Fault.Error(), st.Server+": "))
		} else if st.Phase.Usable() {
			details = append(details, show.Duration(st.Took))
		}
		if n := held[st.Server]; n > 0 {
			details = append(details, show.Count(n, "tool")+" held back: see indus mcp accept")
		}
		t.Add(st.Server, string(st.Phase), fmt.Sprint(st.Tools), strings.Join(details, "; "))
	}
	for _, r := range c.config.Rows {
		if _, runs := c.statusOf(r.Server.ID); runs || r.State == mcpconfig.Shadowed {
			continue
		}
		state, why := string(r.State), r.Reason
		if r.State == mcpconfig.Active {
			state, why = "disconnected", "/mcp connect "+r.Server.ID
		}
		t.Add(r.Server.ID, state, "", command.JoinHint(why, r.Hint))
	}
	if len(c.servers.Status()) == 0 && len(c.config.Rows) == 0 {
		return "no server is configured: see indus mcp add -h"
	}
	return c.tableText(t)
}

// toolTable returns a table of a server's tools. With builtin it has the built-in tools and the tools of all servers.
func (c *conversation) toolTable(server string, builtin bool) string {
	if c.flags.noTools {
		return "there are no tools: --no-tools"
	}
	t, n := &show.Table{Spare: []string{"WHAT"}}, 0
	t.Add("TOOL", "CALLS", "WHAT")
	m := &memory{project: c.dir, server: c.server, approved: sync.OnceValues(approvedTools)} // read once for all tools
	for _, d := range c.offer.allTools.Descriptors() {
		if builtin || d.Server == server {
			t.Add(d.Name, c.permission(m, d), show.Summary(d.Description))
			n++
		}
	}
	for _, e := range c.servers.Changed() {
		if e.Op == ledger.Hold && (builtin || e.Server == server) {
			t.Add(e.Name, "held back", "it changed after it was approved: see indus mcp accept")
			n++
		}
	}
	if n == 0 {
		return "there are none now"
	}
	return c.tableText(t)
}

// permission describes whether calls of a tool run, or ask first.
func (c *conversation) permission(m *memory, d toolbox.Descriptor) string {
	a := agent.Ask{Tool: d, Call: toolbox.Call{Name: d.Name}}
	_, whole := exactCall(a.Call)
	switch {
	case c.flags.yes, (&agent.Permissions{Allow: c.flags.allow}).Allows(d):
		return "run"
	case c.isHarmless(a):
		return "run"
	case whole == "" && m.Allowed(a):
		return "run: allowed"
	}
	return "ask"
}

// serverNames returns the servers that can follow a verb of /mcp.
func (c *conversation) serverNames(verb string) (names []string) {
	connected := command.IDs(c.servers.Fleet.Servers())
	if verb != "connect" {
		return connected
	}
	for _, id := range command.IDs(c.config.Servers()) {
		if st, runs := c.statusOf(id); !runs || st.Fault != nil {
			names = append(names, id)
		}
	}
	return names
}

// complete returns the completions of a line.
func (c *conversation) complete(ctx context.Context, line string) (found []string) {
	words := strings.Split(line, " ")
	var next []string
	switch {
	case !strings.HasPrefix(line, "/"):
		return c.mentions(ctx, line)
	case len(words) == 1:
		next = slices.Sorted(maps.Keys(slashNames))
	case len(words) == 2 && words[0] == "/model":
		next = show.Names(providers, func(p service) string { return p.name + "/" + p.model })
	case len(words) == 2:
		next = slashNames[words[0]]
	case len(words) == 3 && words[0] == "/mcp":
		next = c.serverNames(words[1])
	}
	last := len(words) - 1
	for _, n := range command.WithPrefix(words[last], next) {
		if last == 1 && words[0] == "/mcp" || n == "/mcp" || n == "/model" {
			n += " " // for the next word
		}
		found = append(found, strings.Join(append(slices.Clone(words[:last]), n), " "))
	}
	return found
}
