package main

import (
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

var (
	// namedCommand matches a command line, up to a quotation mark, the end of the line, or the second blank of a
	// column. In prose, "indus" counts only before a command or a flag: "indus keeps its own configuration" does not
	// match a command.
	namedCommand = regexp.MustCompile("\\bindus((?: [^\\s`\"';,()|<>“”…]+)+)")
	// aWord matches a possible name of a command.
	aWord = regexp.MustCompile(`^[a-z][a-z-]*$`)
	// aFlag matches the start of a flag.
	aFlag = regexp.MustCompile(`^--?[a-zA-Z][a-zA-Z-]*`)
)

// TestNamedCommandsExist checks every command line in documents, help texts, hints, messages and comments. The command
// and its flags must exist.
func TestNamedCommandsExist(t *testing.T) {
	root := command.NewRoot(show.New(nil, io.Discard, io.Discard), tree)
	found := 0
	for _, text := range treeTexts(t) {
		for _, m := range namedCommand.FindAllStringSubmatch(text.text, -1) {
			checked, problem := checkNamed(root, strings.Fields(m[1]))
			if problem != "" {
				t.Errorf("%s: %q: %s", text.file, m[0], problem)
			}
			if checked {
				found++
			}
		}
	}
	if found < 400 {
		t.Errorf("only %d command lines were found", found)
	}
}

// checkNamed returns the problem with the words after "indus". It does not check prose.
func checkNamed(root *cobra.Command, words []string) (checked bool, problem string) {
	at := root
	for len(words) > 0 && at.HasSubCommands() {
		word := strings.TrimRight(words[0], ".:")
		i := slices.IndexFunc(at.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
		if i < 0 {
			if at != root && aWord.MatchString(word) {
				return true, "there is no command " + at.CommandPath() + " " + word
			}
			break
		}
		at, words = at.Commands()[i], words[1:]
	}
	if at == root && (len(words) == 0 || !aFlag.MatchString(words[0])) {
		return false, ""
	}
	plain := 0
	for _, word := range words {
		if plain++; !aWord.MatchString(word) {
			plain = 0
		}
		if word == "--" || plain > 1 {
			break // other commands or prose follow
		}
		name := strings.TrimLeft(aFlag.FindString(word), "-")
		if name == "" || name == "help" || name == "h" {
			continue
		}
		known := at.Flags().Lookup(name) != nil || at.InheritedFlags().Lookup(name) != nil
		if !strings.HasPrefix(word, "--") {
			known = at.Flags().ShorthandLookup(name[:1]) != nil || at.InheritedFlags().ShorthandLookup(name[:1]) != nil
		}
		if !known {
			return true, at.CommandPath() + " has no flag " + word
		}
	}
	return true, ""
}

// treeText is a document, a string or a comment of the tree.
type treeText struct{ file, text string }

// treeTexts returns all documents, and all strings and comments of all Go files except tests.
func treeTexts(t *testing.T) (all []treeText) {
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir(), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		ext := filepath.Ext(path)
		if !slices.Contains([]string{".md", ".go", ".sh", ".yml", ".yaml", ".txt", ""}, ext) {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if ext != ".go" {
			all = append(all, treeText{path, string(source)})
			return nil
		}
		all = append(all, goTexts(path, source)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// goTexts returns the strings and comments of a Go file. Strings that are joined with + are one text.
func goTexts(path string, source []byte) (all []treeText) {
	set := token.NewFileSet()
	file := set.AddFile(path, -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	joined := false
	for {
		pos, tok, literal := s.Scan()
		switch tok {
		case token.EOF:
			return all
		case token.ADD:
			joined = true
			continue
		case token.STRING:
			literal, _ = strconv.Unquote(literal)
		case token.COMMENT:
		default:
			joined = false
			continue
		}
		if last := len(all) - 1; joined && last >= 0 {
			all[last].text += literal
		} else {
			all = append(all, treeText{set.Position(pos).String(), literal})
		}
		joined = false
	}
}
