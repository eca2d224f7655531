package cli

import (
	"slices"
	"strings"

	"github.com/indusagi/indus/schema"
	"github.com/spf13/cobra"
)

// everyProvider is how all of them are named at once.
const everyProvider = "all"

// providers are those of all: the APIs that models are behind, as they take a
// tool that nobody rewrote for them. A strict mode is asked for tool by tool, so
// who means it names it.
func providers() []*schema.Profile {
	ours := []*schema.Profile{schema.Universal, schema.Flat, schema.Seed, schema.Original}
	return slices.DeleteFunc(schema.Profiles(), func(p *schema.Profile) bool {
		return slices.Contains(ours, p) || strings.HasSuffix(p.Name(), "-strict")
	})
}

// profileNamed is the profile that somebody typed.
func profileNamed(name string) (*schema.Profile, error) {
	if p := schema.ProfileNamed(name); p != nil {
		return p, nil
	}
	known := profileNames()
	near := didYouMean(name, known)
	if near == "" {
		near = ": there is " + strings.Join(known, ", ")
	}
	return nil, usage("no provider %q%s", name, near)
}

// profilesNamed are those that somebody typed, each once.
func profilesNamed(names []string) ([]*schema.Profile, error) {
	if slices.Contains(names, everyProvider) {
		if len(names) > 1 {
			return nil, usage("--provider %s stands alone: it has all of them", everyProvider)
		}
		return providers(), nil
	}
	var out []*schema.Profile
	for _, name := range names {
		if name == clientProfile { // which is asked anyhow
			continue
		}
		p, err := profileNamed(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

func profileNames() []string { return namesOf(schema.Profiles()) }

func namesOf(profiles []*schema.Profile) []string {
	out := make([]string, len(profiles))
	for i, p := range profiles {
		out[i] = p.Name()
	}
	return out
}

// completeProfiles offers the profiles with what each is for, and more before them.
func completeProfiles(more ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		offer := slices.Clone(more)
		for _, p := range schema.Profiles() {
			offer = append(offer, p.Name()+"\t"+p.About())
		}
		return offer, cobra.ShellCompDirectiveNoFileComp
	}
}
