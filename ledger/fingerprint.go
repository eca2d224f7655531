package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"github.com/indusagi/indus/interop/config"
)

// fingerprintChars is long enough to separate configurations, and too short to guess their contents.
const fingerprintChars = 16

// Fingerprint identifies the configuration of servers by the parts that decide which programs run. For each server
// these are its id and transport, its command, arguments and directory ([config.Server.Identity]), and its URL. The
// names of its variables and headers, and descriptions that replace the server's own, count too. The values of
// variables and headers, which may be secrets, do not. Neither do the rules for mounting: a tool that is denied or
// renamed for a while keeps its approval.
func Fingerprint(servers ...config.Server) string {
	h := sha256.New()
	write := func(texts ...string) {
		h.Write([]byte(strconv.Itoa(len(texts)) + "\n"))
		for _, s := range texts {
			h.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
		}
	}
	for _, s := range servers {
		switch t := s.Transport.(type) {
		case config.Stdio:
			program := append([]string{t.Command, t.Dir}, t.Args...)
			if len(s.Identity) >= 2 {
				program = nil
				for _, write := range s.Identity {
					program = append(program, write.Reveal())
				}
			}
			write(s.ID, string(t.Kind()), program[0], program[1], strconv.FormatBool(t.InheritEnv))
			write(program[2:]...)
			write(pairNames(t.Env)...)
		case config.HTTP:
			write(s.ID, string(t.Kind()), t.URL)
			write(pairNames(t.Headers)...)
		case config.SSE:
			write(s.ID, string(t.Kind()), t.URL)
			write(pairNames(t.Headers)...)
		default:
			write(s.ID)
		}
		if len(s.Tools.Describe) > 0 {
			var texts []string
			for _, tool := range slices.Sorted(maps.Keys(s.Tools.Describe)) {
				texts = append(texts, tool, s.Tools.Describe[tool])
			}
			write("describe")
			write(texts...)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:fingerprintChars]
}

func pairNames(pairs []config.Pair) []string {
	out := make([]string, len(pairs))
	for i, p := range pairs {
		out[i] = p.Name
	}
	return out
}
