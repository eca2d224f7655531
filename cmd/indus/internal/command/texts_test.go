package command_test

import (
	"slices"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/spf13/pflag"
)

// TestTextsAreThoseOfPflag compares flags that may be repeated with those of pflag.
func TestTextsAreThoseOfPflag(t *testing.T) {
	for _, args := range [][]string{
		{"a"}, {"a,b"}, {"a", "b,c"}, {""}, {",", ""}, {`"a,b",c`, "d"}, {`"a`}, {"a\nb"}, {" a , b"},
	} {
		for _, name := range []string{"slice", "array"} {
			var got, want []string
			ours, theirs := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
			got, want = []string{"default"}, []string{"default"}
			ours.Var(command.Listed(&got), "slice", "")
			theirs.StringSliceVar(&want, "slice", want, "")
			if name == "array" {
				ours.Var(command.Repeated(&got), "array", "")
				theirs.StringArrayVar(&want, "array", want, "")
			}
			var line []string
			for _, arg := range args {
				line = append(line, "--"+name+"="+arg)
			}
			failed, alsoFailed := ours.Parse(line), theirs.Parse(line)
			if (failed == nil) != (alsoFailed == nil) || failed == nil && !slices.Equal(got, want) {
				t.Errorf("%q: %q %v, and pflag has %q %v", line, got, failed, want, alsoFailed)
			}
		}
	}
}
