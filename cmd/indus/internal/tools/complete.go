package tools

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop"
	"github.com/spf13/cobra"
)

type completeFlags struct {
	besideFlags
	server string
}

func newComplete(s show.Streams) *cobra.Command {
	var f completeFlags
	cmd := command.New(s, f.complete, cobra.Command{
		Use: "complete REF NAME=PREFIX [NAME=VALUE]...", Short: "List values that a server suggests for an argument",
		Long: completeHelp, ValidArgsFunction: f.completeOwner,
		Args: command.Needs(2,
			"a prompt or the template of a URI, and NAME=PREFIX: indus mcp prompts and resources list them", ""),
	})
	f.addServerFlag(cmd, &f.server, "SERVER  the server that has the template; needed if several servers may have it")
	f.add(cmd, rawJSONHelp)
	return cmd
}

const completeHelp = `Ask a server for the values that an argument of a prompt, or a variable of a resource
template, may have, and print them, one a line. NAME=PREFIX is the argument to
complete, and "NAME=" lists all its values. NAME=VALUE sets other arguments.

Usage:
  indus mcp complete [FLAG]... PROMPT NAME=PREFIX [NAME=VALUE]...
  indus mcp complete [FLAG]... URI-TEMPLATE NAME=PREFIX [NAME=VALUE]...

A session:
  $ indus mcp complete everything__completable-prompt department=E
  Engineering
  $ indus mcp complete everything__completable-prompt name= department=Sales
  $ indus mcp complete 'demo://resource/dynamic/text/{resourceId}' \
      resourceId=1`

func (f *completeFlags) complete(ctx context.Context, args []string, s show.Streams) error {
	ref, words := args[0], args[1:]
	given, err := textArguments(words)
	if err != nil {
		return err
	}
	var b *besideServers
	var server string
	var reference map[string]string
	var known []string // the declared arguments of a prompt
	if strings.ContainsAny(ref, ":{") {
		reference = map[string]string{"type": "ref/resource", "uri": ref}
		b, server, err = f.ownerOf(ctx, ref, f.server, s)
	} else {
		var row command.Beside
		b, row, err = f.findPrompt(ctx, ref, s)
		server, reference = row.Server, map[string]string{"type": "ref/prompt", "name": row.Name}
		known = show.Names(row.Arguments, func(a command.PromptArgument) string { return a.Name })
	}
	if err != nil {
		return err
	}
	defer b.Close()
	name, prefix, _ := strings.Cut(words[0], "=")
	delete(given, name)
	if !slices.Contains(known, name) && !strings.Contains(reference["uri"], name) { // servers return an empty list for it
		s.Reportf("note: %s declares no argument %q%s", ref, name, command.DidYouMean(name, known))
	}
	params := map[string]any{"ref": reference, "argument": map[string]string{"name": name, "value": prefix}}
	if len(given) > 0 {
		params["context"] = map[string]any{"arguments": given}
	}
	result, err := command.Ask(ctx, b.Fleet, server, "completion/complete", params)
	if err != nil {
		return command.Explain(err)
	}
	if f.asJSON {
		return s.WriteJSON(result)
	}
	var got struct {
		Completion struct {
			Values  []string `json:"values"`
			HasMore bool     `json:"hasMore"`
		} `json:"completion"`
	}
	if err := json.Unmarshal(result, &got); err != nil {
		return interop.NewFault(interop.Protocol, server, "completion/complete", err)
	}
	var p show.Page
	for _, v := range got.Completion.Values {
		p.Printf("%s\n", v)
	}
	if got.Completion.HasMore {
		s.Reportf("there are more: a longer prefix shows others")
	}
	return s.Print(&p)
}
