package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"github.com/indusagi/indus/interop"
)

// fingerprintChars is long enough to separate configurations, and too short to guess their contents.
const fingerprintChars = 16

// Fingerprint identifies the configuration of servers by the parts that decide which programs run. For each server
// these are its id and transport, its command, arguments and directory ([interop.Server.Identity]), and its URL. The
// names of its variables and headers, and descriptions that replace the server's own, count too. The values of
// variables and headers, which may be secrets, do not. Neither do the rules for mounting: a tool that is denied or
// renamed for a while keeps its approval.
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

// pairsOf returns each key followed by its value, in the order of the keys.
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
