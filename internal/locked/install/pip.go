package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/locked"
)

// quietPip are options of each pip: wheels only, because a source distribution runs its own code at the installation.
var quietPip = []string{"--disable-pip-version-check", "--no-input", "--quiet", "--only-binary", ":all:"}

// python makes the environment of an entry, and returns its interpreter and its version.
func (i *Installer) python(ctx context.Context, dir string) (program, version string, err error) {
	if _, err := i.run(ctx, dir, "python3", "-m", "venv", "venv"); err != nil {
		return "", "", err
	}
	program = filepath.Join(dir, filepath.FromSlash(locked.VenvBin), "python")
	out, err := i.run(ctx, dir, program, "-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
	return program, strings.TrimSpace(string(out)), err
}

func (i *Installer) resolvePip(ctx context.Context, s locked.Spec, dir string) (locked.Entry, error) {
	python, version, err := i.python(ctx, dir)
	if err != nil {
		return locked.Entry{}, err
	}
	want := s.Package
	if s.Want != "" && strings.ContainsAny(s.Want[:1], "<>=!~") {
		want += s.Want
	} else if s.Want != "" {
		want += "==" + s.Want
	}
	report := filepath.Join(dir, "report.json")
	args := append([]string{"-I", "-m", "pip", "install", "--dry-run", "--report", report}, quietPip...)
	if _, err := i.run(ctx, dir, python, append(args, "--", want)...); err != nil {
		return locked.Entry{}, err
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return locked.Entry{}, err
	}
	return locked.FromPip(s, text, version)
}

// installPip installs the wheels of the entry, by their hashes, into an environment of their own.
func (i *Installer) installPip(ctx context.Context, e locked.Entry, dir string) error {
	python, version, err := i.python(ctx, dir)
	if err != nil {
		return err
	}
	if version != e.Runtime {
		return fmt.Errorf("%s was locked for Python %s, and python3 is %s here", e.Package, e.Runtime, version)
	}
	wanted := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(wanted, []byte(e.Requirements()), 0o600); err != nil {
		return err
	}
	args := append([]string{"-I", "-m", "pip", "install", "--require-hashes", "--no-deps", "-r", wanted}, quietPip...)
	if _, err := i.run(ctx, dir, python, args...); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(e.Program))); err != nil {
		return fmt.Errorf("%s has no program %q; it has %s", e.Package, filepath.Base(e.Program), programs(dir))
	}
	return nil
}

// programs lists the programs of an environment that are not Python's own.
func programs(dir string) string {
	var names []string
	entries, _ := os.ReadDir(filepath.Join(dir, filepath.FromSlash(locked.VenvBin)))
	for _, e := range entries {
		own := slices.ContainsFunc([]string{"python", "pip", "activate", "Activate"}, func(prefix string) bool {
			return strings.HasPrefix(e.Name(), prefix)
		})
		if !own {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
