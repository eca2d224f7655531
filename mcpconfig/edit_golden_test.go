package mcpconfig_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/indusagi/indus/mcpconfig"
)

// TestEdit runs each case of testdata/edit. The lines of its comment are operations:
// "set ID ROW", "remove ID", "enable ID", "disable ID". The words "crlf", "bom" and
// "open" (no line break at the end) describe the real bytes of the files before and
// after. The file errors holds the error of an operation that fails.
func TestEdit(t *testing.T) { eachCase(t, "testdata/edit", editCase) }

// editCase returns the case with its real outcome.
func editCase(t *testing.T, a *txtar.Archive) *txtar.Archive {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	outcome := &txtar.Archive{Comment: a.Comment}
	really := strings.Fields(string(a.Comment))
	for _, f := range a.Files {
		if f.Name == "before" {
			outcome.Files = append(outcome.Files, f)
			write(t, path, disguise(string(f.Data), really))
		}
	}
	errs := edit(t, path, string(a.Comment))
	if text, err := os.ReadFile(path); err == nil {
		if bare := undisguise(string(text), really); disguise(bare, really) != string(text) {
			t.Errorf("the line breaks are mixed: %q", text)
		} else {
			outcome.Files = append(outcome.Files, txtar.File{Name: "after", Data: []byte(bare)})
		}
	}
	if errs != "" {
		outcome.Files = append(outcome.Files, txtar.File{Name: "errors", Data: []byte(strings.ReplaceAll(errs, path, "mcp.json"))})
	}
	return outcome
}

func disguise(text string, really []string) string {
	for _, word := range really {
		switch word {
		case "crlf":
			text = strings.ReplaceAll(text, "\n", "\r\n")
		case "bom":
			text = "\ufeff" + text
		case "open":
			text = strings.TrimSuffix(text, "\n")
		}
	}
	return text
}

func undisguise(text string, really []string) string {
	for _, word := range really {
		switch word {
		case "crlf":
			text = strings.ReplaceAll(text, "\r\n", "\n")
		case "bom":
			text = strings.TrimPrefix(text, "\ufeff")
		case "open":
			text += "\n"
		}
	}
	return text
}

// edit runs the operations, saves, and returns the errors.
func edit(t *testing.T, path, operations string) (errs string) {
	t.Helper()
	e, err := mcpconfig.Open(path)
	if err != nil {
		return err.Error() + "\n"
	}
	for line := range strings.Lines(operations) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch verb {
		case "set":
			id, row, _ := strings.Cut(rest, " ")
			err = e.Set(mcpconfig.Definition{ID: id, JSON: []byte(row)})
		case "remove":
			err = e.Remove(rest)
		case "enable", "disable":
			err = e.Enable(rest, verb == "enable")
		default:
			err = nil
		}
		if err != nil {
			errs += err.Error() + "\n"
		}
	}
	if err := e.Save(); err != nil {
		t.Fatal(err)
	}
	again, err := mcpconfig.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Text(), e.Text()) {
		t.Error("the text is not what was saved")
	}
	return errs
}
