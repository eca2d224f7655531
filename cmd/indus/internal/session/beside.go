package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

const (
	// besideWait limits the time for a list. completeWait limits it for a completion, because it blocks the keyboard.
	besideWait   = 10 * time.Second
	completeWait = time.Second
)

// listBeside requests a list from all servers, and returns the entries that arrive in time.
func (x *session) listBeside(ctx context.Context, kind command.BesideKind, wait time.Duration) []command.Beside {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_ = x.servers.Fleet.Settle(ctx) // without this, an early list would lack slow servers
	ids := command.IDs(x.servers.Fleet.Servers())
	lists := make([][]command.Beside, len(ids))
	var asking sync.WaitGroup
	for i, id := range ids {
		asking.Go(func() { lists[i], _, _ = command.ListBeside(ctx, x.servers.Fleet, id, kind) })
	}
	asking.Wait()
	return slices.Concat(lists...)
}

// prompts implements /prompts. It lists the prompts, or fills one in and sends it as a turn.
func (c *conversation) prompts(ctx context.Context, rest string) (leave bool, err error) {
	var all []command.Beside
	err = c.screen.Turn(ctx, func(ctx context.Context) error {
		c.screen.SetNote("asking the servers")
		all = c.listBeside(ctx, command.Prompts, besideWait)
		return ctx.Err()
	})
	if err != nil {
		return false, err
	}
	name, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if name == "" {
		c.printText(c.promptTable(all))
		return false, nil
	}
	found, err := command.FindPrompt(all, name, "/prompts")
	if err != nil {
		return false, err
	}
	text, err := c.fillPrompt(ctx, found, strings.TrimSpace(rest))
	if err != nil {
		return false, err
	}
	c.printText(text)
	return c.turn(ctx, func(ctx context.Context) (agent.Answer, error) { return c.prompt(ctx, text) })
}

func (c *conversation) promptTable(all []command.Beside) string {
	t := &show.Table{Spare: []string{"WHAT"}}
	t.Add("PROMPT", "ARGUMENTS", "WHAT")
	for _, p := range all {
		about := show.Summary(p.Description)
		if own := p.OwnName(); own != "" {
			about = strings.TrimSpace(show.MediaLabel("named", own) + " " + about)
		}
		t.Add(p.Qualified(), strings.Join(p.ArgumentNames(), " "), about)
	}
	if len(all) == 0 {
		return "no server has prompts"
	}
	return c.tableText(t)
}

// fillPrompt requests a prompt from its server. If the prompt has one argument, its name may be left out.
func (c *conversation) fillPrompt(ctx context.Context, p command.Beside, rest string) (string, error) {
	values, err := promptArguments(p, rest)
	if err != nil {
		return "", err
	}
	params := map[string]any{"name": p.Name}
	if len(values) > 0 {
		params["arguments"] = values
	}
	var result json.RawMessage
	err = c.screen.Turn(ctx, func(ctx context.Context) (err error) {
		c.screen.SetNote("asking " + p.Server)
		result, err = c.requestOf(ctx, p.Server, "prompts/get", params)
		return err
	})
	if err != nil {
		return "", err
	}
	var got struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(result, &got); err != nil || len(got.Messages) == 0 {
		return "", fmt.Errorf("%s: the prompt has no messages", p.Server)
	}
	var parts []string
	for _, m := range got.Messages {
		part := contentText(m.Content)
		if m.Role != "user" {
			part = "[" + m.Role + "] " + part
		}
		parts = append(parts, text.Lines(part))
	}
	return strings.Join(parts, "\n\n"), nil
}

// promptArguments parses arguments of the form NAME=VALUE. A value extends to the next name.
func promptArguments(p command.Beside, rest string) (map[string]string, error) {
	values, last := map[string]string{}, ""
	names := show.Names(p.Arguments, func(a command.PromptArgument) string { return a.Name })
	for word := range strings.SplitSeq(rest, " ") {
		name, value, named := strings.Cut(word, "=")
		switch {
		case named && slices.Contains(names, name):
			values[name], last = value, name
		case last != "":
			values[last] += " " + word
		case rest != "" && len(names) == 1:
			values[names[0]], last = word, names[0]
		case rest != "":
			return nil, fmt.Errorf("%q: the arguments of the prompt are %s, each written NAME=VALUE", word,
				cmp.Or(strings.Join(names, ", "), "none"))
		}
	}
	for name, value := range values {
		var unquoted string
		if strings.HasPrefix(value, `"`) && json.Unmarshal([]byte(value), &unquoted) == nil {
			values[name] = unquoted
		}
	}
	if missing := p.Missing(values); missing != nil {
		return nil, fmt.Errorf("the prompt also needs %s", strings.Join(missing, " "))
	}
	return values, nil
}

// contentText returns the text of a content block.
func contentText(raw json.RawMessage) string {
	if shown, ok := (toolbox.Block{Wire: toolbox.Wire{Format: toolbox.FormatMCP, JSON: raw}}).Shown(); ok {
		return shown
	}
	var block struct{ Type string }
	_ = json.Unmarshal(raw, &block)
	return "[" + block.Type + ", which cannot be shown]"
}

// requestOf sends a request to a server.
func (x *session) requestOf(ctx context.Context, server, method string, params any) (json.RawMessage, error) {
	result, err := command.Ask(ctx, x.servers.Fleet, server, method, params)
	return result, command.Explain(err)
}

// mention matches @SERVER:URI in a prompt.
var mention = text.Pattern(`(?:^|[\s(])@([A-Za-z0-9_.-]+):([^\s)]+)`)

// withResources appends the resources that the user's prompt mentions. Do not pass text of other origin, because it
// could choose the resources.
func (x *session) withResources(ctx context.Context, prompt string) (string, error) {
	var read []string
	for _, m := range mention().FindAllStringSubmatch(prompt, -1) {
		server, uri := m[1], strings.TrimRight(m[2], ".,;:!?")
		if _, ok := x.server(server); !ok || slices.Contains(read, server+":"+uri) {
			continue
		}
		read = append(read, server+":"+uri)
		content, err := x.resource(ctx, server, uri)
		if err != nil {
			return "", fmt.Errorf("@%s:%s: %w", server, uri, err)
		}
		prompt += fmt.Sprintf("\n\nThe resource %s of server %s (its content, and nothing that the user wrote):\n%s",
			quoted(uri, 1000), server, content)
	}
	return prompt, nil
}

// resource returns the text of a resource. Each line has a mark, so that no line can look like the user's text.
func (x *session) resource(ctx context.Context, server, uri string) (string, error) {
	result, err := x.requestOf(ctx, server, "resources/read", map[string]string{"uri": uri})
	if err != nil {
		return "", err
	}
	var got struct{ Contents []show.Resource }
	if err := json.Unmarshal(result, &got); err != nil {
		return "", errors.New("the answer has no contents")
	}
	return resourceText(got.Contents), nil
}

// resourceText returns the contents of a resource as the model reads them.
func resourceText(contents []show.Resource) string {
	var all []string
	for _, c := range contents {
		if c.Text == nil {
			all = append(all, text.Label(quoted(c.MimeType, 100), text.DecodedSize(c.Blob)+", not shown"))
			continue
		}
		all = append(all, *c.Text)
	}
	whole := text.Lines(strings.Join(all, "\n"))
	whole, _ = text.Middle(whole, whole, -len(whole), toolbox.DefaultBudget)
	return "| " + strings.ReplaceAll(strings.TrimRight(whole, "\n"), "\n", "\n| ")
}

// mentions returns the resources that can complete an @ at the end of a line.
func (c *conversation) mentions(ctx context.Context, line string) (found []string) {
	at := strings.LastIndexByte(line, '@')
	if at < 0 || strings.ContainsAny(line[at:], " \t") || at > 0 && !strings.ContainsAny(line[at-1:at], " \t\n(") {
		return nil
	}
	if time.Since(c.listed) > besideWait {
		c.resources, c.listed = c.listBeside(ctx, command.Resources, completeWait), time.Now()
	}
	for _, r := range c.resources {
		if name := "@" + r.Server + ":" + r.URI; strings.HasPrefix(name, line[at:]) {
			found = append(found, line[:at]+name)
		}
	}
	return found
}
