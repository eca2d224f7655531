package cli

import (
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/spf13/cobra"
)

// completeServers offers the ids of the servers that may start, for a command that
// takes that many. It reads files and starts nothing, as all completion does.
func (f *configFlags) completeServers(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		c, err := f.look(cmd.Context())
		if err != nil || len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		free := slices.DeleteFunc(ids(c.Servers()), func(id string) bool { return slices.Contains(args, id) })
		return beginning(typed, free), cobra.ShellCompDirectiveNoFileComp
	}
}

// beginning is the offers that begin with what was typed; behind a tab stands what
// they mean.
func beginning(typed string, offers []string) []string {
	return slices.DeleteFunc(offers, func(o string) bool {
		word, _, _ := strings.Cut(o, "\t")
		return !strings.HasPrefix(word, typed) || clean(word) != word
	})
}

// known is what the ledger knows of the servers that may start.
func (f *configFlags) known(cmd *cobra.Command) *recalled {
	c, err := f.look(cmd.Context())
	if err != nil {
		return &recalled{}
	}
	known, _ := new(ledgerFlags).recall(cmd.Context(), c.Servers()) // what cannot be read is not offered
	return known
}

// completeTool offers tools that the ledger knows, and the beginnings of those that it
// does not; while several servers are meant, beginnings alone.
func (f *configFlags) completeTool(cmd *cobra.Command, typed string) ([]string, cobra.ShellCompDirective) {
	known := f.known(cmd)
	var tools, meant, begun []string
	for _, t := range known.tools {
		tools = append(tools, described(t.Name, t.Description))
	}
	for _, st := range known.status {
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
	if begun = beginning(typed, begun); len(begun) > 0 {
		return append(beginning(typed, tools), begun...), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return beginning(typed, tools), cobra.ShellCompDirectiveNoFileComp
}

// completeCall offers tools, and then the arguments of the tool.
func (f *callFlags) completeCall(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const d = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 {
		return f.completeTool(cmd, typed)
	}
	if typed == "-" || strings.HasPrefix(typed, "@") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	tool, _ := f.known(cmd).find(args[0])
	var offers []string
	for _, p := range shapeOf(tool.Schema).resolved().parameters() {
		given := func(word string) bool {
			return strings.HasPrefix(word, p.name+"=") || strings.HasPrefix(word, p.name+":=")
		}
		switch sign := assignment(p.shape); {
		case slices.ContainsFunc(args[1:], given):
		case strings.HasPrefix(typed, p.name+"="):
			for _, v := range values(p.shape) {
				offers = append(offers, p.name+"="+v)
			}
			return beginning(typed, offers), cobra.ShellCompDirectiveNoFileComp
		default:
			offers = append(offers, described(p.name+sign, p.description()))
		}
	}
	return beginning(typed, offers), d
}

// values are those that a parameter takes, where they are few.
func values(s shape) (out []string) {
	for _, e := range s.elements("enum") {
		if text, ok := wire.Unquote(e); ok {
			e = []byte(text)
		}
		out = append(out, string(e))
	}
	if out == nil && slices.Contains(wanted(s, maxShapeDepth), "boolean") {
		return []string{"true", "false"}
	}
	return out
}

// described is an offer with what it means.
func described(offer, text string) string {
	if text = firstSentence(text); text != "" {
		return offer + "\t" + text
	}
	return offer
}
