package tools

import (
	"context"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/spf13/cobra"
)

// recall is what the ledger knows of the servers that may start.
func recall(ctx context.Context, f *command.ServerFlags) (*command.Recalled, error) {
	c, err := f.ReadDry(ctx)
	if err != nil {
		return &command.Recalled{}, err
	}
	known, _ := f.Recall(ctx, c.Servers()) // what cannot be read is not known
	return known, nil
}

// completeTool offers tools that the ledger knows, and the beginnings of those that it
// does not; while several servers are meant, beginnings alone.
func completeTool(f *command.ServerFlags, cmd *cobra.Command, typed string) ([]string, cobra.ShellCompDirective) {
	known, _ := recall(cmd.Context(), f)
	var tools, meant, begun []string
	for _, t := range known.Tools {
		tools = append(tools, withDescription(t.Name, t.Description))
	}
	for _, st := range known.Status {
		if word := st.Server + interop.Qualifier; strings.HasPrefix(word, typed) || strings.HasPrefix(typed, word) {
			meant = append(meant, word)
			if st.Tools == 0 {
				begun = append(begun, word)
			}
		}
	}
	if len(meant) > 1 {
		tools, begun = nil, meant
	}
	if begun = command.WithPrefix(typed, begun); len(begun) > 0 {
		return append(command.WithPrefix(typed, tools), begun...), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return command.WithPrefix(typed, tools), cobra.ShellCompDirectiveNoFileComp
}

// completeCall offers tools, and then the arguments of the tool.
func (f *callFlags) completeCall(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const d = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 {
		return completeTool(&f.ServerFlags, cmd, typed)
	}
	if typed == "-" || strings.HasPrefix(typed, "@") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	known, _ := recall(cmd.Context(), &f.ServerFlags)
	tool, _ := known.Find(args[0])
	var offers []string
	for _, p := range signature.Parse(tool.Schema).Resolved().Parameters() {
		given := func(word string) bool {
			return strings.HasPrefix(word, p.Name+"=") || strings.HasPrefix(word, p.Name+":=")
		}
		switch sign := assignment(p.Schema); {
		case slices.ContainsFunc(args[1:], given):
		case strings.HasPrefix(typed, p.Name+"="):
			for _, v := range valueOffers(p.Schema) {
				offers = append(offers, p.Name+"="+v)
			}
			return command.WithPrefix(typed, offers), cobra.ShellCompDirectiveNoFileComp
		default:
			offers = append(offers, withDescription(p.Name+sign, p.Schema.String("description")))
		}
	}
	return command.WithPrefix(typed, offers), d
}

// valueOffers are those that a parameter takes, where they are few.
func valueOffers(s signature.Schema) (out []string) {
	for _, n := range s.List("enum") {
		value := string(signature.Raw(n))
		if text, ok := wire.Unquote([]byte(value)); ok {
			value = text
		}
		out = append(out, value)
	}
	if out == nil && slices.Contains(arguments.Wanted(s), "boolean") {
		return []string{"true", "false"}
	}
	return out
}

// withDescription is an offer with what it means.
func withDescription(offer, text string) string {
	if text = show.FirstSentence(text); text != "" {
		return offer + "\t" + text
	}
	return offer
}
