package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"github.com/indusagi/indus/interop"
)

// fingerprintChars is enough to tell configurations apart, and too little to guess
// what is in them.
const fingerprintChars = 16

// Fingerprint tells configurations apart by what they run: of each server its id,
// transport, command, arguments and directory ([interop.Server.Identity]), URL, the names of its variables and
// headers, and the descriptions that it puts in the place of the server's own. The
// values of variables and headers, which may be secrets, are not in it, nor is which
// tools are mounted, and as what: a tool that is denied or renamed for a while keeps its approval.
func Fingerprint(servers ...interop.Server) string {
	h := sha256.New()
	part := func(texts ...string) {
		h.Write([]byte(strconv.Itoa(len(texts)) + "\n"))
		for _, s := range texts {
			h.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
		}
	}
	for _, s := range servers {
		switch t := s.Transport.(type) {
		case interop.Stdio:
			what := append([]string{t.Command, t.Dir}, t.Args...)
			if len(s.Identity) >= 2 {
				what = nil
				for _, part := range s.Identity {
					what = append(what, part.Reveal())
				}
			}
			part(s.ID, string(t.Kind()), what[0], what[1], strconv.FormatBool(t.InheritEnv))
			part(what[2:]...)
			part(namesOf(t.Env)...)
		case interop.HTTP:
			part(s.ID, string(t.Kind()), t.URL)
			part(namesOf(t.Headers)...)
		case interop.SSE:
			part(s.ID, string(t.Kind()), t.URL)
			part(namesOf(t.Headers)...)
		default:
			part(s.ID)
		}
		if len(s.Tools.Describe) > 0 {
			part("describe")
			part(pairsOf(s.Tools.Describe)...)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:fingerprintChars]
}

// pairsOf is keys and values, by turns, in the order of the keys.
func pairsOf(texts map[string]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		out = append(out, key, texts[key])
	}
	return out
}

func namesOf(pairs []interop.Pair) []string {
	out := make([]string, len(pairs))
	for i, p := range pairs {
		out[i] = p.Name
	}
	return out
}
