package install

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/locked"
)

const lockName = "package-lock.json"

// quiet are options of each npm: no script, no question, no look at advisories.
var quiet = []string{"--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--no-update-notifier"}

// resolveNPM lets npm write a package-lock.json. The addresses are left out of it, so that each user's own registry is
// asked, and the hashes decide what is taken.
func (i *Installer) resolveNPM(ctx context.Context, s locked.Spec, dir string) (locked.Entry, error) {
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true}`), 0o600); err != nil {
		return locked.Entry{}, err
	}
	want := s.Package
	if s.Want != "" {
		want += "@" + s.Want
	}
	args := slices.Concat([]string{"install", "--package-lock-only", "--save-exact", "--omit-lockfile-registry-resolved"},
		quiet)
	if _, err := i.run(ctx, dir, "npm", append(args, "--", want)...); err != nil {
		return locked.Entry{}, err
	}
	lock, err := os.ReadFile(filepath.Join(dir, lockName))
	if err != nil {
		return locked.Entry{}, err
	}
	return locked.FromNPM(s, lock)
}

// installNPM installs what the entry's package-lock.json names, and nothing else. npm compares every hash.
func (i *Installer) installNPM(ctx context.Context, e locked.Entry, dir string) error {
	if undecided := e.Scripted(); len(undecided) > 0 && e.Scripts == nil {
		return fmt.Errorf("%s %w", strings.Join(undecided, ", "), ErrScripts)
	}
	manifest, err := json.Marshal(map[string]any{
		"private": true, "dependencies": map[string]string{e.Package: e.Version},
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), manifest, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, lockName), e.Lock, 0o600); err != nil {
		return err
	}
	if _, err := i.run(ctx, dir, "npm", append([]string{"ci", "--omit=dev"}, quiet...)...); err != nil {
		return err
	}
	isNone := func(name string) bool { return name == locked.NoScripts }
	if allowed := slices.DeleteFunc(slices.Clone(e.Scripts), isNone); len(allowed) > 0 {
		if _, err := i.run(ctx, dir, "npm", append([]string{"rebuild", "--loglevel=error"}, allowed...)...); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(e.Program))); err != nil {
		return fmt.Errorf("%s has no file %s", e.Package, e.Program)
	}
	return nil
}

func (i *Installer) newestNPM(ctx context.Context, name string) (string, error) {
	dir, clean, err := i.stage()
	if err != nil {
		return "", err
	}
	defer clean()
	out, err := i.run(ctx, dir, "npm", "view", "--json", "--loglevel=error", "--", name, "version")
	if err != nil {
		return "", err
	}
	var version string
	if err := json.Unmarshal(out, &version); err != nil {
		return "", fmt.Errorf("npm view: no version in its answer: %w", err)
	}
	return version, nil
}
