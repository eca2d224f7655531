package box

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// search finds the files that a command needs to start: its directory, its interpreter, its libraries and its
// packages.
type search struct {
	path string // the PATH of the process
	// writable are the directories that the process can change. Nothing in them can allow more, so links and settings in
	// them are not followed.
	writable []string
	private  []string // directories that are never allowed as a whole, nor is a directory that contains them
	found    []string
}

// maxInterpreters bounds a chain of scripts that are the interpreters of scripts.
const maxInterpreters = 5

// program allows a program and the interpreter that its first line names.
func (s *search) program(path string) {
	for range maxInterpreters {
		real := s.file(path)
		if real == "" {
			return
		}
		s.library(real)
		s.venv(path)
		next := s.interpreter(real)
		if next == "" {
			return
		}
		path = next
	}
}

// file allows the directory of a file, and the directory of the file to which it links. It returns the path without
// links, or "" if that must not be followed.
func (s *search) file(path string) (real string) {
	if s.inWritable(path) {
		return ""
	}
	s.dir(filepath.Dir(path), path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil || s.inWritable(real) {
		return ""
	}
	s.dir(filepath.Dir(real), real)
	return real
}

// dir allows a directory. If it contains private ones, it allows a single file in it.
func (s *search) dir(dir, file string) {
	switch {
	case s.inWritable(dir):
	case s.holdsPrivate(dir):
		if file != "" {
			s.found = append(s.found, file)
		}
	default:
		s.found = append(s.found, dir)
	}
}

func (s *search) inWritable(path string) bool {
	return slices.ContainsFunc(s.writable, func(dir string) bool { return isWithin(filepath.Clean(path), dir) })
}

func (s *search) holdsPrivate(dir string) bool {
	return slices.ContainsFunc(s.private, func(private string) bool { return isWithin(private, dir) })
}

// library allows the libraries beside a directory of programs, and the packages of a script. The shims of pyenv and
// asdf start programs beside them.
func (s *search) library(real string) {
	dir, above := filepath.Base(filepath.Dir(real)), filepath.Dir(filepath.Dir(real))
	for _, name := range map[string][]string{
		"bin": {"lib", "lib64", "libexec", "conf"}, "shims": {"versions", "installs", "libexec", "bin", "plugins"},
	}[dir] {
		if beside := filepath.Join(above, name); isDir(beside) {
			s.dir(beside, "")
		}
	}
	s.packages(real)
}

// packages allows the package of a script, and the packages that it can import: node_modules of each directory above.
func (s *search) packages(real string) {
	root := false
	for dir := filepath.Dir(real); dir != "/" && !s.holdsPrivate(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "node_modules" {
			s.dir(dir, "")
		}
		if modules := filepath.Join(dir, "node_modules"); isDir(modules) {
			s.dir(modules, "")
		}
		for _, mark := range []string{"package.json", "pyproject.toml"} {
			file := filepath.Join(dir, mark)
			if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || s.inWritable(file) {
				continue
			}
			if root {
				s.found = append(s.found, file) // Node reads the ones above too
			} else {
				s.dir(dir, "")
				root = true
			}
		}
	}
}

// venv allows a virtual environment of Python, and the installation that it was made from.
func (s *search) venv(path string) {
	root := filepath.Dir(filepath.Dir(path))
	settings, err := os.ReadFile(filepath.Join(root, "pyvenv.cfg"))
	if err != nil || s.inWritable(root) {
		return
	}
	s.dir(root, "")
	for line := range strings.Lines(string(settings)) {
		key, value, _ := strings.Cut(line, "=")
		if home := strings.TrimSpace(value); strings.TrimSpace(key) == "home" && filepath.IsAbs(home) {
			s.dir(home, "")
			for _, python := range []string{"python3", "python"} {
				if real := s.file(filepath.Join(home, python)); real != "" {
					s.library(real)
				}
			}
		}
	}
}

// interpreter returns the program that runs a script, from its first line, or "".
func (s *search) interpreter(script string) string {
	line := firstLine(script)
	if !strings.HasPrefix(line, "#!") {
		return ""
	}
	words := strings.Fields(line[2:])
	if len(words) == 0 || !filepath.IsAbs(words[0]) {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		return s.lookUp(word)
	}
	return ""
}

// lookUp finds a program in the PATH of the process.
func (s *search) lookUp(name string) string {
	for _, dir := range filepath.SplitList(s.path) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && info.Mode()&0o111 != 0 && !info.IsDir() {
			return path
		}
	}
	return ""
}

// scriptNames matches the names of scripts.
var scriptNames = regexp.MustCompile(`\.([cm]?[jt]s|py|pyz|rb|php|pl|lua|sh|jar)$`)

// interpreters matches the programs that run a script among their arguments.
var interpreters = regexp.MustCompile(`^(node|nodejs|deno|bun|tsx|ts-node|python|pypy|ruby|perl|php|lua|luajit|` +
	`java|(ba|da|z|k)?sh)[0-9.]*$`)

// scripts allows the first script behind an interpreter in a command line. A relative path is relative to dir. Other
// programs get no file because it is an argument: they would read it.
func (s *search) scripts(words []string, dir string) {
	at := slices.IndexFunc(words, func(word string) bool { return interpreters.MatchString(filepath.Base(word)) })
	for _, arg := range words[at+1:] {
		if at < 0 || strings.HasPrefix(arg, "-") || !scriptNames.MatchString(arg) {
			continue
		}
		if !filepath.IsAbs(arg) {
			if dir == "" {
				dir, _ = os.Getwd()
			}
			arg = filepath.Join(dir, arg)
		}
		if info, err := os.Stat(arg); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if real := s.file(arg); real != "" {
			s.packages(real)
		}
		return
	}
}

// firstLine returns the first line of a file, up to the length that the kernel reads.
func firstLine(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	line, _ := bufio.NewReader(io.LimitReader(file, 256)).ReadBytes('\n')
	return string(bytes.TrimSpace(line))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
