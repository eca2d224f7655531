package connect

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/mcpconfig"
)

// found is a client on this machine.
type found struct {
	Client    string `json:"client"`
	Title     string `json:"title"`
	File      string `json:"file"`
	Connected string `json:"connected,omitempty"` // the URL or the command of the entry
	Servers   int    `json:"servers"`             // without the entry
	Error     string `json:"error,omitempty"`
}

// list lists the clients on this machine: a client is there if its file or the directory of its file is there.
func (f *connectFlags) list(s show.Streams) error {
	all := []found{}
	for _, c := range mcpconfig.Clients() {
		_, files := c.SplitFiles(nil)
		if len(files) == 0 {
			continue
		}
		at := found{Client: c.Name, Title: c.Title, File: existingFile(files)}
		if !isThere(at.File) {
			continue
		}
		in, err := mcpconfig.Import(at.File, c.Name, &mcpconfig.Options{Dry: true})
		if err == nil {
			for _, d := range in.Definitions {
				if target := targetOf(d); target != "" {
					at.Connected = target
				} else {
					at.Servers++
				}
			}
		} else if _, statErr := os.Stat(at.File); statErr == nil && !errors.Is(err, mcpconfig.ErrNoServer) {
			at.Error = err.Error()
		}
		all = append(all, at)
	}
	if f.asJSON {
		return s.WriteIndented(all)
	}
	var t show.Table
	t.Add("CLIENT", "CONNECTED", "OTHER SERVERS", "FILE")
	for _, at := range all {
		servers := "-"
		if at.Servers > 0 {
			servers = show.Count(at.Servers, "server")
		}
		t.Add(at.Client, cmp.Or(at.Connected, "no"), servers, at.File)
	}
	const none = "no client is found; indus connect CLIENT makes its file: %s"
	if err := s.PrintTable(&t, none, strings.Join(command.ClientNames(), ", ")); err != nil {
		return err
	}
	for _, at := range all {
		if at.Error != "" {
			s.Reportf("%s", at.Error)
		}
	}
	return nil
}

// isThere reports whether a file is there, or a directory of its program.
func isThere(file string) bool {
	if _, err := os.Stat(file); err == nil {
		return true
	}
	home, _ := os.UserHomeDir()
	dir := filepath.Dir(file)
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && dir != filepath.Clean(home)
}

// targetOf returns the URL or the command of an entry for indus. It is "" for another server.
func targetOf(d mcpconfig.Definition) string {
	var row struct {
		URL     string   `json:"url"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	if json.Unmarshal(d.JSON, &row) != nil || d.ID != "indus" && !strings.HasPrefix(d.ID, "indus-") {
		return ""
	}
	if row.URL != "" {
		return secret.URL(row.URL)
	}
	return strings.Join(append([]string{filepath.Base(row.Command)}, secret.Args(row.Args)...), " ")
}
