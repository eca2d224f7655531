package standard_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repository returns a directory with files, which is a git repository.
func repository(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := tree(t, files)
	git(t, dir, "init", "-q")
	return dir
}

func git(t testing.TB, dir string, arguments ...string) string {
	t.Helper()
	cmd := exec.Command("git", arguments...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", arguments, err)
	}
	return string(out)
}

// places lists files with various names. The rules of the table below may match them.
var places = strings.Fields(`a b .c d/a d/b d/e/a d/e/f/b f.o f.c foo foo/x bar.txt build/out build/sub/out src/build/out src/main.go src/gen.go src/gen/x
	x.log logs/x.log logs/debug.log logs/keep/x.log !bang #hash {a,b} sp\ ace [x] a]b A Z z0 z- z] z^ a*b q?r deep/er/est/file deep/est/file est deep/er
	tmp/.keep tmp/t Icon doc/frotz/x doc/a/frotz/y frotz café/ü ünder`)

func ignoreTree() map[string]string {
	files := map[string]string{}
	for _, p := range places {
		p = strings.ReplaceAll(p, `\`, "_")
		if !slices.ContainsFunc(places, func(other string) bool { return strings.HasPrefix(other, p+"/") }) {
			files[p] = ""
		}
	}
	return files
}

// notIgnored returns two lists of a directory's files that are not ignored: the list of git and the
// list of find.
func notIgnored(t testing.TB, dir string) (byGit, byFind string) {
	t.Helper()
	listed := strings.Split(strings.TrimSuffix(git(t, dir, "ls-files", "-z", "--others", "--exclude-standard"),
		"\x00"), "\x00")
	slices.Sort(listed)
	_, r := readRegistry(t, dir)
	var found []string
	for line := range strings.SplitSeq(call(t, r, "find", `{"pattern":"**","type":"file","limit":10000}`), "\n") {
		if !strings.HasPrefix(line, "(") {
			found = append(found, line)
		}
	}
	slices.Sort(found)
	return strings.Join(listed, "\n"), strings.Join(found, "\n")
}

// rules lists .gitignore files, one in a string: a directory, a colon, and lines divided by "|".
var rules = []string{
	`.:a`, `.:/a`, `.:d/`, `.:d`, `.:/d/a`, `.:d/a`, `.:e/f`, `.:d/*`, `.:d/*|!d/e`, `.:d/|!d/e/`, `.:d/**|!d/e/|!d/e/a`, `.:**`, `.:*|!*/|!*.go`,
	`.:*.o`, `.:*.[oc]`, `.:foo`, `.:foo/*`, `.:/foo/x`, `.:build/`, `.:build`, `.:/build/`, `.:build/out`, `.:**/build/out`, `.:src/**/out`,
	`.:*.log|!debug.log`, `.:logs/*|!logs/keep/`, `.:logs/**|!logs/**/`, `.:logs/**|!logs/**/|!logs/keep/x.log`, `.:\!bang`, `.:\#hash`, `.:#hash`, `.:!bang`,
	`.:{a,b}`, `.:[x]`, `.:\[x\]`, `.:a]b`, `.:[a-z]`, `.:[!a]`, `.:[^a]`, `.:z[]]`, `.:z[!]]`, `.:z[-]`, `.:z[a-]`, `.:z[+--]`, `.:z[\]]`, `.:z[[:digit:]]`,
	`.:[[:upper:]]`, `.:[[:punct:]]*`, `.:[[:upper:][:digit:]]*`, `.:[[:word:]]`, `.:[[:nope:]]`, `.:[[:]*`, `.:[[:alpha:]`, `.:[a`, `.:[`, `.:[]`, `.:z[z-a]`, `.:d[+-0]a`, `.:d[!x]a`,
	`.:a\*b`, `.:q\?r`, `.:q?r`, `.:?`, `.:??`, `.:d?a`, `.:deep/**/file`, `.:**/est`, `.:deep/**`, `.:/deep/**/`, `.:**/er/**`, `.:de**ep`, `.:d**`, `.:deep/*/file`, `.:***`, `.:***/est`,
	`.:a `, `.:a\ `, `.:a\\ `, `.:  a`, `.:a` + "\r", `.:` + "\uFEFF" + `a`, `.:a\`, `.:/`, `.://`, `.:!`, `.:!/`, `.:d//`, `.:./a`, `.:../a`, `.:d/../a`, `.:a|!a`, `.:!a|a`, `.:a||b`,
	`.:*|d:!a`, `.:d/*|d:!*`, `.:*.log|logs:!*`, `.:/x|logs:/x.log`, `.:a|d/e:!a`, `.:*|!*/|d:!a|d/e:!f`, `d:/a`, `d:e/`, `d:/e/f`, `d:**/b`, `d:d`, `d:*|d/e:!a`,
	`.:frotz`, `.:doc/frotz`, `.:**/frotz`, `.:/frotz`, `.:doc/**/frotz/`, `.:café`, `.:ü*`, `.:caf?/`, `.:.*`, `.:/*|!/src`, `.:/*|!/src|/src/*|!/src/gen`, `.:tmp/*|!.keep`, `.:.git/info/exclude`,
}

// TestSearchesHeedGitignoreAsGitDoes compares the results with git itself.
func TestSearchesHeedGitignoreAsGitDoes(t *testing.T) {
	t.Parallel()
	dir := repository(t, ignoreTree())
	all, _ := notIgnored(t, dir)
	for _, row := range rules {
		writeRules(t, dir, row)
		byGit, byFind := notIgnored(t, dir)
		if diff := cmp.Diff(byGit, byFind); diff != "" {
			t.Errorf("%q: git and find differ (-git +find):\n%s", row, diff)
		}
		removeRules(t, dir)
	}
	if byGit, byFind := notIgnored(t, dir); byGit != all || byFind != all {
		t.Error("some .gitignore is left")
	}
}

// writeRules writes the rules of a row.
func writeRules(t testing.TB, dir, row string) {
	t.Helper()
	at := "."
	for rule := range strings.SplitSeq(row, "|") {
		if before, after, ok := strings.Cut(rule, ":"); ok && !strings.ContainsAny(before, "*[!") {
			at, rule = before, after
		}
		file, err := os.OpenFile(filepath.Join(dir, at, ".gitignore"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintln(file, rule)
		if file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func removeRules(t testing.TB, dir string) {
	t.Helper()
	for _, at := range []string{".", "d", "d/e", "logs"} {
		_ = os.Remove(filepath.Join(dir, at, ".gitignore"))
	}
}

// FuzzGitignore checks that find lists the same files as git, whatever the rules are.
func FuzzGitignore(f *testing.F) {
	for _, row := range []string{"a\n/b\nd/\n!d/e", "**/x*[!a-b]", "\\ \n[[:alpha:]-z]", "*\n!*/\n!**/a", "[+-z]/*\\"} {
		f.Add(row, "!a\n/e")
	}
	dir := repository(f, ignoreTree())
	f.Fuzz(func(t *testing.T, root, below string) {
		if strings.ContainsAny(root+below, "\x00") || len(root)+len(below) > 2000 {
			t.Skip()
		}
		for at, text := range map[string]string{".": root, "d": below} {
			if err := os.WriteFile(filepath.Join(dir, at, ".gitignore"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		byGit, byFind := notIgnored(t, dir)
		if diff := cmp.Diff(byGit, byFind); diff != "" {
			t.Errorf("%q, %q (-git +find):\n%s", root, below, diff)
		}
	})
}

func TestWhatIsIgnoredIsToldAndCanBeHad(t *testing.T) {
	dir := tree(t, map[string]string{
		".gitignore": "out/\n*.log\n", ".git/info/exclude": "*.tmp\n", "src/.gitignore": "!keep.log\ngen.go\n",
		"src/a.go": "hit\n", "src/gen.go": "hit\n", "src/keep.log": "hit\n", "src/x.log": "hit\n", "src/x.tmp": "", "out/b.log": "hit\n", "out/c": "hit\n",
	})
	_, r := readRegistry(t, dir)
	const one = "\n(1 entry that .gitignore names was left out; ignored: true includes it)"
	several := func(n int) string {
		return fmt.Sprintf("\n(%d entries that .gitignore names were left out; ignored: true includes them)", n)
	}
	tests := []struct{ tool, input, want string }{
		{"find", `{"pattern":"*","type":"file"}`, ".gitignore\nsrc/.gitignore\nsrc/a.go\nsrc/keep.log" + several(4)},
		{"find", `{"pattern":"*.log"}`, "src/keep.log" + several(4)},
		{"find", `{"pattern":"*.log","ignored":true}`, "out/b.log\nsrc/keep.log\nsrc/x.log"},
		{"find", `{"pattern":"*","path":"out"}`, "out/b.log\nout/c"},
		{"find", `{"pattern":"*.log","path":"src"}`, "src/keep.log" + several(3)},
		{"grep", `{"pattern":"hit","glob":"*.{go,log}"}`, "src/a.go\n1:hit\n\nsrc/keep.log\n1:hit" + several(4)},
		{"grep", `{"pattern":"hit","path":"out","glob":"*.log"}`, "out/b.log\n1:hit"},
		{"grep", `{"pattern":"hit","path":"src/gen.go"}`, "src/gen.go\n1:hit"},
		{"grep", `{"pattern":"hit","path":"src","glob":"gen*","ignored":true}`, "src/gen.go\n1:hit"},
		{"ls", `{"hidden":false}`, "src/\n(2 hidden entries are not shown)" + one},
		{"ls", `{"path":"src"}`, ".gitignore\t17\na.go\t4\nkeep.log\t4" + several(3)},
		{"ls", `{"path":"src","ignored":true,"limit":1}`, ".gitignore\t17\n(1 of 6 entries; use find to narrow it)"},
		{"ls", `{"path":"out"}`, "b.log\t4\nc\t4"},
		{"read", `{"path":"out/c"}`, "1\thit"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, call(t, r, tt.tool, tt.input)); diff != "" {
			t.Errorf("%s %s: %s", tt.tool, tt.input, diff)
		}
	}
}

func TestHostileGitignore(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"long/.gitignore": strings.Repeat("x\n", 200_000), "long/x": "", "dir/.gitignore/": "", "dir/x": "",
		"slow/.gitignore": strings.Repeat(strings.Repeat("*a", 400)+"b\n", 300), "slow/" + strings.Repeat("a", 250): "",
		"bytes/.gitignore": "\xff\n\x00\n" + strings.Repeat("[", 2000) + "\n", "bytes/x": "", "out/.gitignore": "", "loop/x": "",
	})
	outside := tree(t, map[string]string{"rules": "x\n"})
	if err := os.Remove(filepath.Join(dir, "out/.gitignore")); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join(outside, "rules"), filepath.Join(dir, "out/.gitignore"))
	link(t, ".gitignore", filepath.Join(dir, "loop/.gitignore"))
	_, r := readRegistry(t, dir)
	got := call(t, r, "find", `{"pattern":"x"}`)
	if want := "bytes/x\ndir/x\nlong/x\nloop/x\n(1 .gitignore was too long to be heeded)"; got != want {
		t.Error(got)
	}
	endsWith(t, r, 10, "find", `{"pattern":"x","path":"slow"}`)
}
