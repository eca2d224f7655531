package mcpconfig

import (
	"strings"
)

// maxNest is how deep defaults may stand in defaults, because reading them recurses.
const maxNest = 20

// expansion replaces the variables of one text. It is the only place that does.
type expansion struct {
	text    string
	at      int
	env     func(string) (string, bool)
	budget  *int     // bytes that values may still add
	missing []string // variables without value and default
	reason  string   // what is wrong with the text; "" while nothing is
	hint    string
}

// run is the text with ${VAR} and ${VAR:-default} replaced and "$${" turned into
// "${". It is "" where anything is missing or wrong.
func (x *expansion) run() string {
	out := x.until(false, true, 0)
	if x.reason != "" || len(x.missing) > 0 {
		return ""
	}
	return out
}

// until reads up to the end, or to the "}" that closes a default. What is not live
// is read and not looked up: the default of a variable that has a value.
func (x *expansion) until(closing, live bool, depth int) string {
	var out strings.Builder
	for x.at < len(x.text) && x.reason == "" {
		rest := x.text[x.at:]
		switch {
		case strings.HasPrefix(rest, "$${"):
			out.WriteString("${")
			x.at += 3
		case strings.HasPrefix(rest, "${"):
			x.at += 2
			out.WriteString(x.variable(live, depth))
		case closing && rest[0] == '}':
			return out.String()
		default:
			out.WriteByte(rest[0])
			x.at++
		}
	}
	if closing {
		x.fail(`"${" is not closed`, `close it with "}", or write "$${" for the characters themselves`)
	}
	return out.String()
}

// variable reads one, from behind its "${" to behind its "}".
func (x *expansion) variable(live bool, depth int) string {
	name := x.name()
	rest := x.text[x.at:]
	switch {
	case depth > maxNest:
		x.fail("defaults are nested too deep", "")
	case name != "" && strings.HasPrefix(rest, "}"):
		x.at++
		if live {
			return x.value(name)
		}
	case name != "" && strings.HasPrefix(rest, ":-"):
		x.at += 2
		value, _ := x.env(name)
		text := x.until(true, live && value == "", depth+1)
		x.at++
		if value == "" || !live {
			return text
		}
		return x.spend(value)
	case rest == "":
		x.fail(`"${" is not closed`, `close it with "}", or write "$${" for the characters themselves`)
	case name == "env" && rest[0] == ':':
		x.fail(`"${env:…}" is not read here`, "write ${NAME} instead of ${env:NAME}")
	case name == "input" && rest[0] == ':':
		x.fail(`"${input:…}" is not read here`, "set a variable and write ${NAME}")
	default:
		x.fail(`"${" does not begin a variable`, `write ${NAME} or ${NAME:-default}, or "$${" for the characters themselves`)
	}
	return ""
}

// name reads a variable's name: letters, digits and "_", no digit first.
func (x *expansion) name() string {
	start := x.at
	for ; x.at < len(x.text); x.at++ {
		c := x.text[x.at]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (x.at == start || c < '0' || c > '9') {
			break
		}
	}
	return x.text[start:x.at]
}

// value looks up a variable that has no default. One that is set to "" has a value.
func (x *expansion) value(name string) string {
	value, ok := x.env(name)
	if !ok {
		x.missing = append(x.missing, name)
	}
	return x.spend(value)
}

func (x *expansion) spend(value string) string {
	if *x.budget -= len(value); *x.budget < 0 {
		x.fail("the variables of this file add more than 4 MiB", "")
		return ""
	}
	return value
}

func (x *expansion) fail(reason, hint string) {
	if x.reason == "" {
		x.reason, x.hint = reason, hint
	}
}
