package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/schema"
	"github.com/spf13/cobra"
)

// ClientProfile selects the check for flaws that make clients refuse a whole list of tools. It is not a schema.Profile,
// because no model is behind it.
const ClientProfile = "client"

// EveryProvider selects all providers.
const EveryProvider = "all"

// Providers returns the profiles of model APIs. It leaves out strict modes, which are selected by name.
func Providers() []*schema.Profile {
	ownProfiles := []*schema.Profile{schema.Universal, schema.Flat, schema.Seed, schema.Original}
	return slices.DeleteFunc(schema.Profiles(), func(p *schema.Profile) bool {
		return slices.Contains(ownProfiles, p) || strings.HasSuffix(p.Name(), "-strict")
	})
}

// ProfileNamed returns the profile with a name from the command line.
func ProfileNamed(name string) (*schema.Profile, error) {
	if p := schema.ProfileNamed(name); p != nil {
		return p, nil
	}
	known := ProfileNames()
	return nil, Usagef("no provider %q%s", name, cmp.Or(DidYouMean(name, known), ": there is "+strings.Join(known, ", ")))
}

// ProfilesNamed returns the profiles with names from the command line, without duplicates.
func ProfilesNamed(names []string) ([]*schema.Profile, error) {
	if slices.Contains(names, EveryProvider) {
		if len(names) > 1 {
			return nil, Usagef("--provider %s excludes the others: it is all of them", EveryProvider)
		}
		return Providers(), nil
	}
	var out []*schema.Profile
	for _, name := range names {
		if name == ClientProfile { // this check always runs
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

// ProfileNames returns the names of all profiles.
func ProfileNames() []string { return NamesOf(schema.Profiles()) }

// NamesOf returns the names of profiles.
func NamesOf(profiles []*schema.Profile) []string {
	return show.Names(profiles, (*schema.Profile).Name)
}

// CompleteProfiles completes the names in more, then the names of profiles with their descriptions.
func CompleteProfiles(more ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		offer := slices.Clone(more)
		for _, p := range schema.Profiles() {
			offer = append(offer, p.Name()+"\t"+p.About())
		}
		return offer, cobra.ShellCompDirectiveNoFileComp
	}
}
