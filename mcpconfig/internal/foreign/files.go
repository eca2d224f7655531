package foreign

import (
	"path"
	"path/filepath"
	"strings"
)

// spot is a place of a client's file. In the rows of [dialects] it is written "[OS=]ROOT/PATH[|VARIABLE]".
//
//   - OS is windows, darwin, unix (all but Windows) or linux (all but Windows and darwin).
//   - ROOT is "./" for the project, "~/" for the user's home or "config:" for the user's configuration directory.
//     "app:" is the directory for files of programs with a window, and "roaming:" is the one of Windows.
//   - VARIABLE holds a directory that replaces the directory of the file. Without a PATH it holds the file itself.
type spot struct{ os, root, path, variable string }

func (d *dialect) spots() []spot {
	var out []spot
	for word := range strings.FieldsSeq(d.files) {
		var s spot
		if system, rest, ok := strings.Cut(word, "="); ok {
			s.os, word = system, rest
		}
		word, s.variable, _ = strings.Cut(word, "|")
		for _, root := range []string{"./", "~/", "config:", "app:", "roaming:"} {
			if rest, ok := strings.CutPrefix(word, root); ok {
				s.root, s.path = root, rest
			}
		}
		out = append(out, s)
	}
	return out
}

// storage returns the places in which an extension of Visual Studio Code, or of Cursor, keeps its files.
func storage(file string) string {
	return "app:Code/User/globalStorage/" + file + " app:Cursor/User/globalStorage/" + file
}

// blocks returns the places of Continue's files. Continue also has a file for each server.
func blocks(root string) string {
	root += ".continue/"
	return root + "config.yaml " + root + "mcpServers/*.yaml " + root + "mcpServers/*.yml " + root + "mcpServers/*.json"
}

// find returns the path of the file on this system. It is "" if there is no such place.
func (p *Place) find(s spot) string {
	switch {
	case s.os == "unix" && p.OS == "windows", s.os == "linux" && (p.OS == "windows" || p.OS == "darwin"),
		(s.os == "windows" || s.os == "darwin") && s.os != p.OS:
		return ""
	}
	value := ""
	if s.variable != "" && p.Env != nil {
		value, _ = p.Env(s.variable)
	}
	switch {
	case value != "" && s.path == "":
		return filepath.Clean(value)
	case value != "":
		return filepath.Join(value, path.Base(s.path))
	case s.path == "":
		return ""
	}
	dir := p.root(s.root)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(s.path))
}

func (p *Place) root(root string) string {
	below := ""
	switch {
	case root == "./":
		return p.Dir
	case root == "config:", root == "app:" && p.OS != "darwin" && p.OS != "windows":
		return p.Config
	case root == "app:" && p.OS == "darwin":
		below = "Library/Application Support"
	case root != "~/":
		if p.Env != nil {
			if dir, _ := p.Env("APPDATA"); dir != "" {
				return dir
			}
		}
		below = "AppData/Roaming"
	}
	if p.Home == "" {
		return ""
	}
	return filepath.Join(p.Home, filepath.FromSlash(below))
}

// SettingsDirs returns the directories in which programs keep their settings for a project, relative to the project.
func SettingsDirs() []string {
	var out []string
	for _, d := range dialects() {
		for _, s := range d.spots() {
			if dir := path.Dir(s.path); s.root == "./" && len(dir) > 1 && dir[0] == '.' {
				out = append(out, dir)
			}
		}
	}
	return out
}

// clientOfPath returns the client that keeps a file of this name. The longest matching path wins.
func clientOfPath(file string) (client string) {
	most := 0
	for _, d := range dialects() {
		ends := strings.Fields(d.pathEnd)
		for _, s := range d.spots() {
			ends = append(ends, s.path)
		}
		for _, end := range ends {
			dir, last, many := strings.Cut(end, "*")
			here := strings.HasSuffix(file, "/"+end) || many && strings.Contains(file, "/"+dir) && strings.HasSuffix(file, last)
			if end != "" && here && len(end) > most {
				client, most = d.name, len(end)
			}
		}
	}
	return client
}

// ofUser reports whether the file belongs to the user and to no project.
func (p *Place) ofUser() bool {
	return p.Path != "" && !strings.HasPrefix(p.Path, p.Dir+"/") && !strings.HasPrefix(p.Path, p.Dir+`\`)
}

// absolute returns a path in the file in a form that does not depend on the file, with "~/" for the home.
func (p *Place) absolute(path string) string {
	if path == "" || strings.HasPrefix(path, "~/") {
		return path
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(p.Path), path)
	}
	if rest, ok := strings.CutPrefix(path, p.Home+string(filepath.Separator)); ok && p.Home != "" {
		return "~/" + filepath.ToSlash(rest)
	}
	return path
}
