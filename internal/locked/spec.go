package locked

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/text"
)

// Ecosystem is a kind of packages, with a registry and a format of lock files of its own.
type Ecosystem string

// The ecosystems.
const (
	NPM  Ecosystem = "npm"
	PyPI Ecosystem = "pypi"
)

// Spec is the package that the command line of a launcher runs.
type Spec struct {
	Ecosystem Ecosystem
	Package   string   // its name, without a version
	Want      string   // the version, range or tag as written; "" is the newest
	Program   string   // the program of the package, if the command line names one
	Words     []string // the words of the command line up to the package or program, which the lock replaces
	Args      []string // the words behind it, for the server
}

// launcher is the syntax of a program that runs packages.
type launcher struct {
	ecosystem Ecosystem
	before    []string // a subcommand in front, of which each word may be any of several, divided by "|"
	ignored   string   // options without a value that change nothing about the package
	from      string   // options whose value is the package; the word behind them is its program
}

const npmIgnored = "-y --yes -q --quiet -s --silent --prefer-offline --prefer-online --no-install"

// launchersOf has the syntax by the name of a program. Of several the first whose subcommand fits counts.
var launchersOf = map[string][]launcher{
	"npx":  {{NPM, nil, npmIgnored, "-p --package"}},
	"pnpx": {{NPM, nil, npmIgnored, "--package"}},
	"bunx": {{NPM, nil, npmIgnored + " --bun", "-p --package"}},
	"npm":  {{NPM, []string{"exec|x"}, npmIgnored, "-p --package"}},
	"pnpm": {{NPM, []string{"dlx"}, npmIgnored, "--package"}},
	"yarn": {{NPM, []string{"dlx"}, npmIgnored, "-p --package"}},
	"bun":  {{NPM, []string{"x"}, npmIgnored + " --bun", "-p --package"}},
	"uvx":  {{PyPI, nil, "-q --quiet --isolated --no-progress", "--from"}},
	"uv":   {{PyPI, []string{"tool", "run"}, "-q --quiet --isolated --no-progress", "--from"}},
	"pipx": {{PyPI, []string{"run"}, "-q --quiet --no-cache", "--spec"}},
}

// Parse returns the package that a command line runs. The error says in what the command line differs from what can be
// locked.
func Parse(command string, args []string) (Spec, error) {
	name := proc.ProgramName(command)
	known, ok := launchersOf[name]
	if !ok {
		return Spec{}, fmt.Errorf("%q runs no package: npx, pnpm dlx, bunx, yarn dlx, uvx and pipx run do", command)
	}
	for _, l := range known {
		if n := len(l.before); n <= len(args) && matches(l.before, args[:n]) {
			return l.parse(command, args)
		}
	}
	return Spec{}, fmt.Errorf("%q runs a package only as %q", name, name+" "+strings.ReplaceAll(
		strings.Join(known[0].before, " "), "|", " or "))
}

func matches(pattern, words []string) bool {
	for i, p := range pattern {
		if !slices.Contains(strings.Split(p, "|"), words[i]) {
			return false
		}
	}
	return true
}

func (l launcher) parse(command string, args []string) (Spec, error) {
	s := Spec{Ecosystem: l.ecosystem}
	named := "" // the package that an option names
	for i := len(l.before); i < len(args); i++ {
		word := args[i]
		option, value, joined := strings.Cut(word, "=")
		switch {
		case word == "--" && l.ecosystem == NPM:
		case strings.HasPrefix(word, "-") && slices.Contains(strings.Fields(l.from), option):
			if !joined {
				if i++; i == len(args) {
					return s, fmt.Errorf("%s has no package behind it", option)
				}
				value = args[i]
			}
			if named != "" {
				return s, fmt.Errorf("%s names a second package, and one can be locked", option)
			}
			named = value
		case strings.HasPrefix(word, "-") && slices.Contains(strings.Fields(l.ignored), word):
		case strings.HasPrefix(word, "-"):
			return s, fmt.Errorf("the option %s of %s cannot be locked", text.Clip(option, maxWord), command)
		default:
			s.Words = append([]string{command}, args[:i+1]...)
			s.Args = args[i+1:]
			if named != "" {
				s.Program = word
			}
			return s, s.setPackage(cmp.Or(named, word))
		}
	}
	return s, fmt.Errorf("%s has no package behind its options", command)
}

const maxWord = 200

// IsExact reports whether the command line names one version.
func (s Spec) IsExact() bool {
	if s.Ecosystem == NPM {
		return exactNPM().MatchString(s.Want)
	}
	return exactPyPI().MatchString(s.Want)
}

var (
	exactNPM  = text.Pattern(`^=?v?\d+\.\d+\.\d+([-+][A-Za-z0-9.+-]+)?$`)
	exactPyPI = text.Pattern(`^(==)?v?\d+(\.\d+)*([-+._]?[a-z][A-Za-z0-9.+]*)?$`)
	npmName   = text.Pattern(`^(@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*$`)
	npmWant   = text.Pattern(`^[A-Za-z0-9^~<>=*][A-Za-z0-9^~<>=*. |_+-]*$`)
	pypiName  = text.Pattern(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._, -]+\])?$`)
	pypiWant  = text.Pattern(`^[A-Za-z0-9<>=!~][A-Za-z0-9<>=!~.,*+ -]*$`)
)

// setPackage divides a package as it is written from its version. Paths, URLs and repositories are refused: no registry
// has a hash of them.
func (s *Spec) setPackage(word string) error {
	name, want := npmName, npmWant
	at := strings.LastIndex(word, "@")
	if s.Ecosystem == PyPI {
		name, want = pypiName, pypiWant
		if i := strings.IndexAny(word, "<>=!~"); at < 0 && i > 0 {
			s.Package, s.Want = strings.TrimSpace(word[:i]), word[i:]
			at = 0
		}
	}
	if at > 0 {
		s.Package, s.Want = word[:at], word[at+1:]
	} else if s.Package == "" {
		s.Package = word
	}
	if s.Want == "latest" {
		s.Want = ""
	}
	if len(word) > maxWord || !name().MatchString(s.Package) || s.Want != "" && !want().MatchString(s.Want) {
		return fmt.Errorf("%q is no package of a registry, which a lock needs", text.Clip(word, maxWord))
	}
	if strings.ContainsAny(s.Program, `/\`) || strings.HasPrefix(s.Program, ".") {
		return fmt.Errorf("%q is no program of a package", text.Clip(s.Program, maxWord))
	}
	return nil
}
