package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/schema"
	"github.com/spf13/cobra"
)

// ClientProfile names the flaws for which clients refuse a whole list of tools. It is no schema.Profile: it is about tools and
// lists, and no model is behind it.
const ClientProfile = "client"

// EveryProvider names all providers at once.
const EveryProvider = "all"

// Providers are the profiles of the APIs that models are behind, without strict modes, which are asked for one by one.
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
