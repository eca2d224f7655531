package command

import (
	"os"
	"strings"

	"github.com/indusagi/indus/internal/box"
	"github.com/indusagi/indus/interop/config"
)

// Unconfinable returns why this system cannot enforce a sandbox, or "" if it can.
func Unconfinable() string {
	switch s := box.Supported(); {
	case !s.Enforced():
		return s.Missing
	case os.Geteuid() == 0:
		return "a sandbox of root is none"
	}
	return ""
}

// BoxInForce returns the short form of a sandbox. If the server starts in a part of it, the form is "partial" and the
// missing parts.
func BoxInForce(s *config.Sandbox) string {
	if s == nil || !s.Optional || Unconfinable() == "" {
		return s.String()
	}
	var missing []string
	add := func(holds bool, part string) {
		if !holds {
			missing = append(missing, part)
		}
	}
	can := box.Supported()
	add(can.Files, "no files")
	add(can.Calls, "no calls")
	add(can.Hosts, "no hosts")
	add(os.Geteuid() != 0, "root")
	return "partial: " + strings.Join(missing, ", ")
}

// BoxLines returns what a sandbox adds to its base, one thing a line.
func BoxLines(s *config.Sandbox) (lines []string) {
	if s == nil {
		return nil
	}
	for _, more := range s.Beyond(&config.Sandbox{Base: config.Package}) {
		lines = append(lines, "  "+more)
	}
	return lines
}
