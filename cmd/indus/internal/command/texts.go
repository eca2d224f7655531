package command

import (
	"encoding/csv"
	"strings"

	"github.com/spf13/pflag"
)

// texts is the value of a flag that may be repeated. The values of pflag are formatted as CSV when a flag is defined.
// For the flags of all commands, this takes 200 KB at each start.
type texts struct {
	all   *[]string
	split bool // at commas; a text with a comma is in quotation marks, as in CSV
	isSet bool // the default is replaced
}

// Repeated returns the value of a flag that may be repeated.
func Repeated(all *[]string) pflag.Value { return &texts{all: all} }

// Listed returns the value of a flag that may be repeated, and that takes several texts with commas.
func Listed(all *[]string) pflag.Value { return &texts{all: all, split: true} }

// Set implements [pflag.Value].
func (t *texts) Set(s string) error {
	more := []string{s}
	if t.split {
		var err error
		if more, err = csv.NewReader(strings.NewReader(s)).Read(); err != nil && s != "" {
			return err
		}
	}
	if !t.isSet {
		*t.all = nil
	}
	*t.all, t.isSet = append(*t.all, more...), true
	return nil
}

// String implements [pflag.Value].
func (t *texts) String() string { return strings.Join(*t.all, ",") }

// Type implements [pflag.Value]. Cobra completes a flag of this type again after its first use.
func (t *texts) Type() string { return "stringSlice" }
