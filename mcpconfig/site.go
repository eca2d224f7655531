package mcpconfig

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/mcpconfig/internal/foreign"
)

// site is where a file stands: the beginning of its relative paths, and the project of its rows.
type site struct {
	path     string
	scope    Scope
	approved bool
	place    *readContext
	project  string // the ${workspaceFolder}; "": see workspace

	boxDefault *boxValue // "sandboxDefault" of the file; nil: it has none

	part       *bool   // whether it belongs to a project; nil: not yet known
	rowProject *string // see rowTerritory; nil: not yet known
}

// base returns the absolute directory at which relative paths of the file begin. It is the file's directory, or the
// directory around its .indusvx or around another program's directory of settings.
func (s *site) base() string {
	base, err := filepath.Abs(filepath.Dir(s.path))
	if err != nil { // the working directory is gone
		return filepath.Dir(s.path)
	}
	return projectRoot(base)
}

// workspace returns the directory for ${workspaceFolder} in the file's rows. It is the project of the file, or else the
// directory that is searched for a project.
func (s *site) workspace() string {
	if s.project != "" {
		return s.project
	}
	if s.inProject() {
		return s.base()
	}
	if dir, err := filepath.Abs(s.place.Dir); err == nil {
		return dir
	}
	return s.place.Dir
}

// inProject reports whether the file belongs to a project: it was found as a project's file, or it was named. A named
// file must be in the searched directory or below, or in a directory for settings of programs in a project. The home
// directory and the root are not projects.
func (s *site) inProject() bool {
	if s.scope != Explicit {
		return s.scope == Project
	}
	if s.part == nil {
		base, dir, isProject := atomicfile.Real(s.base()), atomicfile.Real(s.place.Dir), s.place.isProject
		settings, _ := filepath.Abs(filepath.Dir(s.path))
		part := isProject(base) && (projectRoot(settings) != settings || isProject(dir) && isWithin(dir, base))
		s.part = &part
	}
	return *s.part
}

// maySet reports whether the file may have a setting of indus serve. A project's file may only if its user named it.
func (s *site) maySet() bool { return s.scope != Project && s.approved }

// isUserFile reports whether the file is one of the user's own files.
func (s *site) isUserFile() bool {
	return s.scope != Explicit && s.scope != Project || s.place.isOwn(s.path)
}

// boxHome returns the directory for the home of a server in a sandbox. Rows of different files never share one, because
// a home holds credentials.
func (s *site) boxHome(id string) string {
	if !s.isUserFile() {
		return s.place.serverDir("box", id, atomicfile.Real(s.path))
	}
	return s.place.serverDir("box", id, "")
}

// tilde replaces a leading "~/" with the home directory, if that is known.
func (s *site) tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && s.place.Home != "" {
		return filepath.Join(s.place.Home, rest)
	}
	return path
}

// absolute returns a path in the file. A relative path begins at the directory of the file.
func (s *site) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.base(), path)
}

// projectRoot returns the directory that a file in dir belongs to. If dir is a directory in which a program keeps its
// settings in a project, that is the directory around it.
func projectRoot(dir string) string {
	for _, settings := range append(foreign.SettingsDirs(), ".indusvx") {
		up := dir
		for settings != "." && filepath.Base(up) == path.Base(settings) {
			up, settings = filepath.Dir(up), path.Dir(settings)
		}
		if settings == "." {
			return up
		}
	}
	return dir
}

// rowTerritory returns the project of the file's rows. For a row of the user, it returns the project in which the row
// would start.
func (s *site) rowTerritory() string {
	if s.rowProject == nil {
		root := s.place.territoryOf(s.workspace())
		if root == "" && s.inProject() {
			root = atomicfile.Real(s.workspace())
		}
		s.rowProject = &root
	}
	return *s.rowProject
}

// rootOf returns the project that contains a path, by its name or by its real path. It is "" if there is none.
func (s *site) rootOf(path string) string {
	root := s.rowTerritory()
	if root == "" || !filepath.IsAbs(path) || !isWithin(root, path) && !isWithin(root, atomicfile.Real(path)) {
		return ""
	}
	return root
}

// namesProject reports whether a text contains a path in the project.
func (s *site) namesProject(text string) bool {
	root := s.rowTerritory()
	if root == "" {
		return false
	}
	for _, dir := range []string{s.workspace(), root} {
		for _, rest := range strings.Split(text, dir)[1:] {
			if rest == "" || !isNameByte(rest[0]) {
				return true
			}
		}
	}
	_, value, ok := strings.Cut(text, "=")
	return s.rootOf(text) != "" || ok && s.namesProject(value)
}

func isNameByte(c byte) bool {
	return c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
}

// ownPath returns the PATH of a row that does not belong to the project. It is "" if that is the PATH of this process.
func (s *site) ownPath() string {
	if s.inProject() {
		return ""
	}
	path, excluded := s.place.paths()
	if excluded == nil {
		return ""
	}
	return path
}

// variable looks up a variable for a row.
func (s *site) variable(name string) (string, bool) {
	value, ok := s.place.Env(name)
	if name == "PATH" && !s.inProject() {
		value, _ = s.place.cutPath(value)
	}
	return value, ok
}

// fixedVariable returns the value of a variable that every file has.
func (s *site) fixedVariable(name string) (string, bool) {
	switch name {
	case "userHome":
		return s.place.Home, s.place.Home != ""
	case "workspaceFolder":
		return s.workspace(), true
	case "workspaceFolderBasename":
		return filepath.Base(s.workspace()), true
	case "pathSeparator":
		return string(filepath.Separator), true
	}
	return "", false
}
