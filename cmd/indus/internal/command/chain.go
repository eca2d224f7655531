package command

import (
	"strconv"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/chain"
)

// ParseHead parses the head of a log, SEQ:HASH, or a hash alone. "" is the zero Head. The error names the command that
// prints heads.
func ParseHead(text, verify string) (chain.Head, error) {
	if text == "" {
		return chain.Head{}, nil
	}
	seq, hash, ok := strings.Cut(text, ":")
	if !ok {
		seq, hash = "0", text
	}
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil || ok && n == 0 || !chain.IsHash(hash) {
		return chain.Head{}, Usagef("--head %q is no head: write it as %s prints it, SEQ:HASH", text, verify)
	}
	return chain.Head{Seq: n, Hash: hash}, nil
}

// WholeText describes the state of a log.
func WholeText(whole bool) string {
	if whole {
		return "as they were written"
	}
	return "not all as they were written"
}

// AddDamage adds a line for each damage of a log.
func AddDamage(p *show.Page, damage []chain.Damage) {
	for _, d := range damage {
		if d.Line == 0 {
			p.Printf("%s: %s\n", d.Kind, d.Why)
		} else {
			p.Printf("%s\n", d)
		}
	}
}
