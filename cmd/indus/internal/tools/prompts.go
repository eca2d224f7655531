package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

const promptsHelp = `List the prompts of every configured server, or of some: the name by which "indus mcp
prompt" takes each, its arguments ("?" marks optional ones) and its description.

A session:
  $ indus mcp prompts --mcp servers.json
  everything  4 prompts
    everything__args-prompt(city, state?)
        A prompt with two arguments, one required and one optional
    …`

// promptRow is a prompt in the output of --json.
type promptRow struct {
	Name   string          `json:"name"`
	Server string          `json:"server"`
	Prompt json.RawMessage `json:"prompt"`
}

func newPrompts(s show.Streams) *cobra.Command {
	return newBesideList(s, besideList{
		kinds: []command.BesideKind{command.Prompts},
		json:  func(r command.Beside) any { return promptRow{r.Qualified(), r.Server, r.Raw} },
		title: promptTitle,
		count: func(rows []command.Beside) string { return show.Count(len(rows), "prompt") },
	}, "print a JSON array with one object per prompt: name, server and prompt, the prompt as its server wrote it",
		cobra.Command{Use: "prompts [SERVER]...", Short: "List the prompts of every server, or of some", Long: promptsHelp})
}

func promptSignature(r command.Beside) string {
	if len(r.Arguments) == 0 {
		return r.Qualified()
	}
	return r.Qualified() + "(" + strings.Join(r.ArgumentNames(), ", ") + ")"
}

// promptTitle returns the signature of a prompt, and its own name if the name was changed.
func promptTitle(r command.Beside) string {
	if own := r.OwnName(); own != "" {
		return promptSignature(r) + "  " + show.MediaLabel("named", own)
	}
	return promptSignature(r)
}

func newPrompt(s show.Streams) *cobra.Command {
	var f besideFlags
	cmd := command.New(s, f.prompt, cobra.Command{
		Use: "prompt PROMPT [KEY=VALUE]...", Short: "Get a prompt, filled in", Long: promptHelp,
		ValidArgsFunction: f.completeOwner,
		Args:              command.Needs(1, "the name of a prompt: indus mcp prompts lists them", ""),
	})
	f.add(cmd, rawJSONHelp)
	return cmd
}

const promptHelp = `Get a prompt, by the name that "indus mcp prompts" shows, with its arguments filled in,
and print its messages. Unless there is a single message of the user, a line
[ROLE] is printed before each.

A session:
  $ indus mcp prompt everything__args-prompt city=Pune
  What's weather in Pune?
  $ indus mcp prompt everything__args-prompt city=Pune | indus -p -`

func (f *besideFlags) prompt(ctx context.Context, args []string, s show.Streams) error {
	given, err := textArguments(args[1:])
	if err != nil {
		return err
	}
	b, row, err := f.findPrompt(ctx, args[0], s)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := checkArguments(row, given, s); err != nil {
		return err
	}
	params := map[string]any{"name": row.Name}
	if len(given) > 0 {
		params["arguments"] = given
	}
	result, err := command.Ask(ctx, b.Fleet, row.Server, "prompts/get", params)
	if err != nil {
		return command.Explain(err)
	}
	if f.asJSON {
		return s.WriteJSON(result)
	}
	return writeMessages(s, result)
}

// findPrompt returns the prompt with a name, and the connected servers. The caller closes them.
func (f *besideFlags) findPrompt(
	ctx context.Context, name string, s show.Streams,
) (*besideServers, command.Beside, error) {
	servers, err := serversFor(ctx, &f.ServerFlags, name, s)
	if err != nil {
		return nil, command.Beside{}, err
	}
	b, err := f.connect(ctx, servers, s)
	if err != nil {
		return nil, command.Beside{}, err
	}
	rows, err := b.listAll(ctx, s, command.Prompts)
	row, unknown := command.FindPrompt(rows, name, "indus mcp prompts"+f.RepeatPaths())
	if unknown == nil {
		return b, row, nil
	}
	b.Close()
	return nil, command.Beside{}, cmp.Or(err, unknown)
}

// textArguments parses KEY=VALUE arguments. The arguments of prompts are strings.
func textArguments(words []string) (map[string]string, error) {
	out := map[string]string{}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if _, twice := out[key]; !ok || key == "" || twice {
			return nil, command.Usagef("%q: write each argument once, as KEY=VALUE", w)
		}
		out[key] = value
	}
	return out, nil
}

// checkArguments returns an error if a required argument is missing, and reports undeclared arguments.
func checkArguments(r command.Beside, given map[string]string, s show.Streams) error {
	if missing := r.Missing(given); missing != nil {
		return command.Usagef("%s: missing %s", promptSignature(r), strings.Join(missing, " "))
	}
	known := show.Names(r.Arguments, func(a command.PromptArgument) string { return a.Name })
	for key := range given {
		if !slices.Contains(known, key) {
			s.Reportf("note: %s: the prompt declares no argument %q%s", r.Qualified(), key, command.DidYouMean(key, known))
		}
	}
	return nil
}

// writeMessages prints the messages of a prompt for a person.
func writeMessages(s show.Streams, result json.RawMessage) error {
	var got struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(result, &got); err != nil {
		return s.WriteText(show.IndentJSON(result))
	}
	for _, m := range got.Messages {
		var b strings.Builder
		if len(got.Messages) > 1 || m.Role != "user" {
			b.WriteString(show.MediaLabel(m.Role) + "\n")
		}
		b.WriteString(blockText(toolbox.Block{Wire: toolbox.Wire{Format: toolbox.FormatMCP, JSON: m.Content}}))
		if err := s.WriteText(b.String()); err != nil {
			return err
		}
	}
	return nil
}

// completeOwner completes only the server in a name, because the ledger has no prompts.
func (f *besideFlags) completeOwner(
	cmd *cobra.Command, args []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	const d = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	c, err := f.ReadDry(cmd.Context())
	if err != nil || len(args) > 0 {
		return nil, d
	}
	return command.WithPrefix(typed,
		show.Names(c.Servers(), func(o config.Server) string { return o.ID + config.Qualifier })), d
}
