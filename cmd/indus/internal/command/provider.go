package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/schema"
	"github.com/spf13/cobra"
)

// ClientProfile is who reads a list of tools whole or not at all: clients, which lose
// every tool of a server for one. No schema.Profile has it, because it is about tools
// and lists, and what it refuses no model is shown.
const ClientProfile = "client"

// EveryProvider is how all of them are named at once.
const EveryProvider = "all"

// Providers are those of all: the APIs that models are behind, as they take a
// tool that nobody rewrote for them. A strict mode is asked for tool by tool, so
// who means it names it.
func Providers() []*schema.Profile {
	ours := []*schema.Profile{schema.Universal, schema.Flat, schema.Seed, schema.Original}
	return slices.DeleteFunc(schema.Profiles(), func(p *schema.Profile) bool {
		return slices.Contains(ours, p) || strings.HasSuffix(p.Name(), "-strict")
	})
}

// ProfileNamed is the profile that somebody typed.
func ProfileNamed(name string) (*schema.Profile, error) {
	if p := schema.ProfileNamed(name); p != nil {
		return p, nil
	}
	known := ProfileNames()
	return nil, Usagef("no provider %q%s", name, cmp.Or(DidYouMean(name, known), ": there is "+strings.Join(known, ", ")))
}

// ProfilesNamed are those that somebody typed, each once.
func ProfilesNamed(names []string) ([]*schema.Profile, error) {
	if slices.Contains(names, EveryProvider) {
		if len(names) > 1 {
			return nil, Usagef("--provider %s excludes the others: it is all of them", EveryProvider)
		}
		return Providers(), nil
	}
	var out []*schema.Profile
	for _, name := range names {
		if name == ClientProfile { // which is asked anyhow
			continue
		}
		p, err := ProfileNamed(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// ProfileNames are those of all profiles.
func ProfileNames() []string { return NamesOf(schema.Profiles()) }

// NamesOf are the names of profiles.
func NamesOf(profiles []*schema.Profile) []string {
	return show.Names(profiles, (*schema.Profile).Name)
}

// CompleteProfiles offers the profiles with what each is for, and more before them.
func CompleteProfiles(more ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		offer := slices.Clone(more)
		for _, p := range schema.Profiles() {
			offer = append(offer, p.Name()+"\t"+p.About())
		}
		return offer, cobra.ShellCompDirectiveNoFileComp
	}
}
