package mcpconfig_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/mcpconfig"
)

// readText reads one named file in an empty home.
func readText(t *testing.T, content string) (*mcpconfig.Config, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	write(t, path, content)
	c, err := mcpconfig.Read(t.Context(), []string{path}, &mcpconfig.Options{Home: dir, Env: lookup(nil)})
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), dir+string(filepath.Separator)))
	}
	return c, nil
}

func TestReadSaysWhereASyntaxErrorIsAndShowsNoToken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, content, want string }{
		{"empty", "", `mcp.json:1:1: is empty; begin with {"servers": {"name": {"command": "…"}}}`},
		{"blank", "\n \t\r\n", `mcp.json:1:1: is empty; begin with {"servers": {"name": {"command": "…"}}}`},
		{"comment alone", "// s3cret", `mcp.json:1:10: ends too early; look for a bracket, a quote or a comment that is not closed`},
		{"open string", "{\n\"servers\": \"s3cret", `mcp.json:2:19: ends too early; look for a bracket, a quote or a comment that is not closed`},
		{"open comment", "{} /* s3cret", `mcp.json:1:13: ends too early; look for a bracket, a quote or a comment that is not closed`},
		{"Windows path", "{\"servers\":\n {\"a\": {\"command\": \"C:\\s3cret\"}}}", `mcp.json:2:23: a bad escape in a string; write "\\" for a backslash`},
		{"bad unicode escape", `{"a": "s3cret\u00zz"}`, `mcp.json:1:14: a bad escape in a string; write "\\" for a backslash`},
		{"line break", "{\"a\": \"s3cret\n\"}", `mcp.json:1:14: a line break or control character in a string; write it as \n, \t or \u00XX`},
		{"bare value", `{"a": s3cret}`, `mcp.json:1:7: a word that is neither true, false, null nor a number; write strings and names in double quotes`},
		{"bare name", `{s3cret: 1}`, `mcp.json:1:2: a word that is neither true, false, null nor a number; write strings and names in double quotes`},
		{"single quotes", `{'s3cret': 1}`, `mcp.json:1:2: invalid character '\'' at start of value; write strings in double quotes`},
		{"missing comma", "{\"a\": 1\n\"s3cret\": 2}", `mcp.json:2:1: invalid character '"' after object value (expecting ',' or '}')`},
		{"trailing text", "{} s3cret", `mcp.json:1:4: invalid character 's' after top-level value`},
		{"a list", `["s3cret"]`, `mcp.json:1:1: holds a list where an object is expected; begin with {"servers": {"name": {"command": "…"}}}`},
		{"a string", `"s3cret"`, `mcp.json:1:1: holds a string where an object is expected; begin with {"servers": {"name": {"command": "…"}}}`},
		{"UTF-16", "\xff\xfe{\x00}\x00", `mcp.json:1:1: is UTF-16; save it as UTF-8`},
		{"Latin-1", "{\n \"a\": \"gr\xfcn\"}", `mcp.json:2:10: is not UTF-8; save it as UTF-8`},
		{"NUL", "\x00", `mcp.json:1:1: invalid character '\u0000' at start of value`},
		{"too deep", strings.Repeat("[", 65), `mcp.json:1:65: nested deeper than 64 levels`},
		{"very deep", strings.Repeat(`{"":`, 200_000), `mcp.json:1:257: nested deeper than 64 levels`},
		{"too large", `{}` + strings.Repeat(" ", 1<<20), `mcp.json: larger than 1 MiB`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readText(t, tt.content)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Error("the error shows the token")
			}
		})
	}
}

func TestReadTakesEveryWayToWriteText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, content string }{
		{"byte order mark", "\ufeff" + `{"servers": {"a": {"command": "x"}}}`},
		{"CRLF", "{\r\n// note\r\n\"servers\": {\r\n\"a\": {\"command\": \"x\"},\r\n}\r\n}\r\n"},
		{"brackets in strings and comments", `{"x": "[[[{{{\"[", /* [[[ " */ "servers": {"a": {"command": "x"}}} // [[[ "`},
		{"64 levels", `{"servers": {"a": {"command": "x"}}, "x": ` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "}"},
		{"exactly 1 MiB", `{"servers": {"a": {"command": "x"}}}` + strings.Repeat(" ", 1<<20-36)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := readText(t, tt.content)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Servers()) != 1 || len(c.Notes) != 0 {
				t.Errorf("%v, notes %v", c.Rows, c.Notes)
			}
		})
	}
}

func TestReadBoundsWhatVariablesAdd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	write(t, path, `{"servers": {"a": {"command": "`+strings.Repeat("${V}", 5000)+`"}, "b": {"command": "b"}}}`)
	c, err := mcpconfig.Read(t.Context(), []string{path}, &mcpconfig.Options{Home: dir, Env: lookup(map[string]string{"V": strings.Repeat("v", 1000)})})
	if err != nil {
		t.Fatal(err)
	}
	want := `server "a": command: the variables of this file add more than 4 MiB`
	if len(c.Servers()) != 1 || len(c.Notes) != 1 || !strings.HasSuffix(c.Notes[0].String(), want) {
		t.Errorf("%v", c.Notes)
	}
}

// Without bounds, a file of 1 MiB could take a minute and 600 MiB.
func TestReadBoundsRowsAndNotes(t *testing.T) {
	t.Parallel()
	c, err := readText(t, `{"servers": {"a": {"command": "x", `+strings.Repeat(`"ab": 1, `, 5_000)+`"args": 1}}}`)
	if err != nil || len(c.Rows) != 1 || len(c.Notes) != 102 {
		t.Errorf("keys: %d notes, %v", len(c.Notes), err)
	}
	if r := c.Rows[0]; r.State != mcpconfig.Skipped || c.Notes[101].Reason != r.Reason || !strings.HasPrefix(c.Notes[100].Reason, "more than 100") {
		t.Errorf("%v: %v", r, c.Notes[100:])
	}
	c, err = readText(t, `{"servers": [`+strings.Repeat("1,", 20_000)+`], "mcpServers": {"a": 1}}`)
	if err != nil || len(c.Rows) != 1000 || len(c.Notes) != 1001 {
		t.Fatalf("rows: %v", err)
	}
	if want := "more than 1000 rows; from here on they are not read"; c.Notes[0].Reason != want {
		t.Errorf("%v", c.Notes[0])
	}
}

func TestReadBoundsNestedDefaults(t *testing.T) {
	t.Parallel()
	c, err := readText(t, `{"servers": {"a": {"command": "`+strings.Repeat("${A:-", 100_000)+strings.Repeat("}", 100_000)+`"}}}`)
	if err != nil || len(c.Notes) != 1 || !strings.HasSuffix(c.Notes[0].String(), "defaults are nested too deep") {
		t.Errorf("%v, %v", c, err)
	}
}

func TestReadStopsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, `{"servers": {}}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mcpconfig.Read(ctx, []string{path}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Read: %v", err)
	}
	servers, notes := mcpconfig.Load(ctx, path)
	if servers != nil || len(notes) != 1 || notes[0].String() != path+": context canceled" {
		t.Errorf("Load: %v, %v", servers, notes)
	}
}

func TestReadRefusesAPathThatDoesNotExist(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none", "mcp.json")
	for _, path := range []string{missing, ""} {
		_, err := mcpconfig.Read(t.Context(), []string{path}, nil)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Read(%q): %v", path, err)
		}
	}
	servers, notes := mcpconfig.Load(t.Context(), missing)
	if servers != nil || len(notes) != 1 || notes[0].String() != missing+": no such file or directory" {
		t.Errorf("Load: %v, %v", servers, notes)
	}
}

func TestLoadSearchesADirectory(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("USERPROFILE", filepath.Join(dir, "home"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))
	write(t, filepath.Join(dir, "xdg", "indusvx", "mcp.json"), `{"servers": {"mine": {"command": "x"}}}`)
	write(t, filepath.Join(dir, "work", ".indusvx", "mcp.json"), `{"servers": {"theirs": {"command": "x"}}}`)

	servers, notes := mcpconfig.Load(t.Context(), filepath.Join(dir, "work"))
	if len(servers) != 1 || servers[0].ID != "mine" || len(notes) != 1 || notes[0].State != mcpconfig.Held {
		t.Errorf("%v, %v", servers, notes)
	}
	servers, notes = mcpconfig.Load(t.Context(), filepath.Join(dir, "work", ".indusvx", "mcp.json"))
	if len(servers) != 1 || servers[0].ID != "theirs" || len(notes) != 0 {
		t.Errorf("%v, %v", servers, notes)
	}
}

func TestSearchedNamesEveryPlace(t *testing.T) {
	c, err := mcpconfig.Read(t.Context(), nil, &mcpconfig.Options{Dir: "d", Home: "h", XDG: "x", Env: lookup(nil)})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"d/.indusvx/mcp.json", "x/indusvx/mcp.json", "h/.indusvx/agent/mcp.json", "h/.indusvx/agent/mcp-servers.json"}
	var got []string
	for _, path := range c.Searched {
		got = append(got, filepath.ToSlash(path))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	c, err = mcpconfig.Read(t.Context(), nil, &mcpconfig.Options{Dir: "d", Env: lookup(nil)})
	if err != nil || len(c.Searched) != 1 {
		t.Errorf("without a home: %v, %v", c, err)
	}
}

// Values of variables, environments and headers are never printed. The same
// holds for values in the user, the query or the fragment of a URL.
func TestNothingPrintsAValue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".indusvx", "mcp.json"), `{"servers": {
		"a": {"command": "${V}x", "args": ["${V}", {"k": "s3cret"}], "env": {"A": "s3cret", "B": "${V}", "C": "s3cret${NONE}", "D": ["s3cret"]}, "cwd": "${V}"},
		"b": {"url": "https://s3cret@h/${V}?s3cret#s3cret", "headers": {"A": "s3cret", "B": "${V}", "C": "s3cret\u0001"}},
		"c": {"url": "https://u:s3cret/@h/", "transport": "sse", "env": {"A": "s3cret"}},
		"d": {"command": "x", "env": {"A": "s3cret", "A": "s3cret${"}, "enabled": false},
		"e": {"command": "x", "env": "s3cret", "timeout": "s3cret", "inheritEnv": "s3cret"},
		"f": {"url": "https://h/mcp", "headers": {"A": "${V}"}},
		"g": {"command": "x", "args": ["${V}"], "env": {"A": "${V}"}},
		"h": {"command": "${cmd:cat secret}", "args": ["${cmd:cat secret}", "${file:secret}"], "env": {"A": "${file:secret}"}, "cwd": "${file:secret}"},
		"i": {"url": "https://h/${cmd:cat secret}", "headers": {"A": "${file:secret}"}},
		"j": {"command": "x", "args": ["${cmd:cat secret; cat secret >&2; exit 1}", "${file:./secret/}"]},
		"k": {"url": "${cmd:cat secret}"}
	}}`)
	write(t, filepath.Join(dir, "secret"), "s3cret\n")
	for _, trust := range []bool{false, true} {
		c, err := mcpconfig.Read(t.Context(), []string{dir},
			&mcpconfig.Options{Trust: trust, Home: dir, Env: lookup(map[string]string{"V": "s3cret"})})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Rows) != 11 {
			t.Fatal(c.Rows)
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		out := string(text)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			out += fmt.Sprintf(verb, c) + fmt.Sprintf(verb, c.Rows) + fmt.Sprintf(verb, c.Notes) + fmt.Sprintf(verb, c.Held())
		}
		for line := range strings.Lines(out) {
			if strings.Contains(line, "s3cret") || strings.Contains(line, fmt.Sprintf("%x", "s3cret")) {
				t.Errorf("trust %v: %s", trust, line)
			}
		}
	}
}

func TestRowAsJSON(t *testing.T) {
	c, err := readText(t, `{"servers": {"a": {"command": "x", "args": ["-y"], "env": {"A": "b"}}, "b": {}}}`)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Rows {
		c.Rows[i].File = "mcp.json"
	}
	got, err := json.MarshalIndent(c.Rows, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := `[
 {
  "id": "a",
  "transport": "stdio",
  "target": "x -y",
  "file": "mcp.json",
  "line": 1,
  "scope": "file",
  "state": "active"
 },
 {
  "id": "b",
  "file": "mcp.json",
  "line": 1,
  "scope": "file",
  "state": "skipped",
  "reason": "the row has neither \"url\" nor \"command\""
 }
]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNoteString(t *testing.T) {
	for want, n := range map[string]mcpconfig.Note{
		`mcp.json:12:5: server "x": reason; try this`: {File: "mcp.json", Line: 12, Column: 5, Server: "x", Row: 3, Reason: "reason", Hint: "try this"},
		`mcp.json:12:5: row 3: reason`:                {File: "mcp.json", Line: 12, Column: 5, Row: 3, Reason: "reason"},
		`mcp.json: reason`:                            {File: "mcp.json", Reason: "reason"},
		`reason`:                                      {Reason: "reason"},
	} {
		if got := n.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestTargetIsBounded(t *testing.T) {
	c, err := readText(t, `{"servers": {"a": {"command": "`+strings.Repeat("ü", 5000)+`"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Rows[0].Target; len(got) > 4200 || !strings.HasSuffix(got, "ü… (10000 bytes)") {
		t.Errorf("%d bytes, ends in %q", len(got), got[max(0, len(got)-40):])
	}
}
