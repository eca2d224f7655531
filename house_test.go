package indus_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The budgets limit how much a new reader has to learn: exported names per package and lines per package. Package-level
// names have to explain themselves.
const (
	maxExported = 45   // without a reason
	maxLines    = 4000 // without a reason
	mostNames   = 60   // with a reason, too
	mostLines   = 6000
	maxColumns  = 120 // of a line outside tests; a tab is one column
)

// exportedBudget lists the packages with more exported names than maxExported, with the reasons.
var exportedBudget = map[string]struct {
	max int
	why string
}{
	"agent":   {60, "34 names, and 26 constants of five enumerations and the defaults: roles, stops, events, verdicts"},
	"interop": {60, "32 names, and 28 constants of five enumerations: kinds, phases, eras, events, codes"},
	"ledger": {60, "43 names, and 17 constants of three enumerations: operations, changes, damage; " +
		"the seed names most"},
	"mcpconfig": {55, "45 names, and 10 constants of two enumerations: states, scopes"},
	"toolbox": {60, "the author of a tool imports one package: tools, their context, results and media, and questions to " +
		"the client"},
}

// largePackages lists the packages with more lines than maxLines, tests aside. ARCHITECTURE.md has the reasons.
var largePackages = []string{
	"cmd/indus/internal/page", "cmd/indus/internal/servers", "gateway", "host", "interop", "interop/internal/conn", "ledger",
	"mcpconfig", "auth/oauth", "schema",
}

// roomBudget limits the lines of each room outside tests. A room is a directory of the root with all below it, except
// internal/testkit. If a room shrinks, its budget shrinks too. A budget grows only for a reason that the commit gives.
var roomBudget = map[string]int{
	"agent":     7516,
	"auth":      6335,
	"cmd":       37050,
	"control":   9563,
	"examples":  284,
	"gateway":   6414,
	"host":      7430,
	"internal":  21995,
	"interop":   13580,
	"ledger":    4970,
	"mcpconfig": 12325,
	"operation": 2520,
	"replica":   3325,
	"schema":    9527,
	"toolbox":   4183,
}

func TestRoomsKeepTheirBudgets(t *testing.T) {
	got := map[string]int{}
	for _, p := range packages(t) {
		room, _, _ := strings.Cut(p.path, "/")
		for name := range p.files {
			got[room] += lines(t, name)
		}
	}
	for room, n := range got {
		if budget := roomBudget[room]; n > budget {
			t.Errorf("%s has %d lines, over its budget of %d", room, n, budget)
		} else if n < budget-budget/20-100 {
			t.Errorf("%s has %d lines: its budget of %d is too large", room, n, budget)
		}
	}
}

func TestExportedNames(t *testing.T) {
	for _, p := range packages(t) {
		if strings.Contains("/"+p.path+"/", "/internal/") {
			continue
		}
		var exported []string
		for name := range p.names() {
			if ast.IsExported(name) {
				exported = append(exported, name)
			}
		}
		allowed, why := maxExported, "no reason is given for more"
		if budget, ok := exportedBudget[p.path]; ok {
			allowed, why = budget.max, budget.why
		}
		if len(exported) > min(allowed, mostNames) {
			t.Errorf("%s exports %d names, over %d (%s)", p.path, len(exported), allowed, why)
		}
		if budget, ok := exportedBudget[p.path]; ok && (len(exported) <= maxExported || len(exported) < budget.max) {
			t.Errorf("%s exports %d names: its budget of %d is too large", p.path, len(exported), budget.max)
		}
	}
}

func TestPackagesStaySmall(t *testing.T) {
	architecture := read(t, "ARCHITECTURE.md")
	for _, p := range packages(t) {
		n := 0
		for name := range p.files {
			n += lines(t, name)
		}
		if n > mostLines {
			t.Errorf("%s has %d lines, over %d: cut it at a noun that few of its parts need", p.path, n, mostLines)
		}
		large := slices.Contains(largePackages, p.path)
		if n > maxLines && !large {
			t.Errorf("%s has %d lines, over %d: cut it, or give the reason in ARCHITECTURE.md", p.path, n, maxLines)
		}
		if large && (n <= maxLines-maxLines/10 || !strings.Contains(architecture, "`"+p.path+"` is large")) {
			t.Errorf("%s (%d lines) is among the large packages, and ARCHITECTURE.md gives no reason, or it no longer is",
				p.path, n)
		}
	}
}

// TestLinesFit checks that no line outside tests is wider than maxColumns.
func TestLinesFit(t *testing.T) {
	for _, file := range tracked(t, "*.go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		number := 0
		for line := range strings.Lines(read(t, file)) {
			number++
			isTag := strings.Contains(line, "`json:") // Go cannot break the tag of a field
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > maxColumns && !isTag {
				t.Errorf("%s:%d has %d columns, over %d", file, number, n, maxColumns)
			}
		}
	}
}

// TestPackageLevelNames checks that a package-level name explains itself far from its declaration. No function,
// variable or constant has a name that is one common word, and none of them is hidden by a local name.
func TestPackageLevelNames(t *testing.T) {
	common := map[string]bool{}
	for word := range strings.FieldsSeq(commonWords) {
		common[word] = true
	}
	for _, p := range packages(t) {
		locals := p.locals()
		for name, at := range p.names() {
			switch {
			case !isLowerWord(name):
			case locals[name]:
				t.Errorf("%s: %s is also a local name in %s", p.set.Position(at.pos), name, p.path)
			case common[name] && at.kind != "type":
				t.Errorf("%s: %s is one common word", p.set.Position(at.pos), name)
			}
		}
	}
}

func TestDocNamesAllPackages(t *testing.T) {
	doc := read(t, "doc.go")
	for _, p := range packages(t) {
		if strings.Contains("/"+p.path+"/", "/internal/") || strings.HasPrefix(p.path, "examples") {
			continue
		}
		if !regexp.MustCompile(`\s` + regexp.QuoteMeta(p.path) + `[\s.,:;]`).MatchString(doc) {
			t.Errorf("doc.go does not name %s", p.path)
		}
	}
}

// TestDependenciesHaveReasons compares docs/dependencies.md with go.mod and the imports.
func TestDependenciesHaveReasons(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", `{{if not (or .Indirect .Main)}}{{.Path}}{{end}}`, "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	required := strings.Fields(string(out))
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*?) \\|").FindAllStringSubmatch(read(t,
		"docs/dependencies.md"), -1) {
		rows[row[1]] = row[2]
	}
	for module := range rows {
		if !slices.Contains(required, module) {
			t.Errorf("docs/dependencies.md has %s, which go.mod does not require", module)
		}
	}
	all := packages(t)
	covers := func(room, pkg string) bool { return pkg == room || strings.HasPrefix(pkg, room+"/") }
	for _, path := range required {
		row, ok := rows[path]
		if !ok {
			t.Errorf("go.mod requires %s, and docs/dependencies.md gives no reason", path)
			continue
		}
		var users, rooms []string
		for _, p := range all {
			if p.imports(path) {
				users = append(users, p.path)
			}
		}
		for _, room := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
			rooms = append(rooms, room[1])
			if !slices.ContainsFunc(users, func(user string) bool { return covers(room[1], user) }) {
				t.Errorf("docs/dependencies.md: %s is not used in %s", path, room[1])
			}
		}
		for _, user := range users {
			if !slices.ContainsFunc(rooms, func(room string) bool { return covers(room, user) }) {
				t.Errorf("docs/dependencies.md: %s is also used in %s", path, user)
			}
		}
	}
}

// TestCodeInDocsIsCompiled checks that each piece of Go in the documents is in a file that a test or build compiles.
func TestCodeInDocsIsCompiled(t *testing.T) {
	var source strings.Builder
	for _, dir := range []string{"examples", "."} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == "out") {
				return fs.SkipDir
			}
			if err == nil && strings.HasSuffix(path, ".go") {
				source.WriteString(squeeze(read(t, path)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, name := range append(documents, "README.md", "SECURITY.md", "ARCHITECTURE.md") {
		for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, name), -1) {
			blocks++
			if strings.HasPrefix(block[1], "package ") && !strings.HasPrefix(name, "README") {
				compile(t, name, block[1])
				continue
			}
			if !strings.Contains(source.String(), squeeze(block[1])) {
				t.Errorf("%s: nothing compiles\n%s", name, block[1])
			}
		}
	}
	if blocks == 0 {
		t.Error("no Go in the documents: the test finds nothing")
	}
}

// compile builds a whole program of a document. The program imports only the standard library.
func compile(t *testing.T, name, program string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}

// squeeze makes code comparable regardless of its indentation.
func squeeze(code string) string { return strings.Join(strings.Fields(code), " ") + " " }

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// parsed holds the files of one package, tests aside.
type parsed struct {
	path  string // from the module's root
	set   *token.FileSet
	files map[string]*ast.File
}

type declared struct {
	kind string
	pos  token.Pos
}

var allParsed []parsed

// packages returns all packages of the module with Go files that are not tests, except test tooling. They are parsed once.
func packages(t *testing.T) []parsed {
	t.Helper()
	if allParsed != nil {
		return allParsed
	}
	var all []parsed
	for _, path := range packagePaths(t) {
		if path == "" || strings.HasPrefix(path, "internal/testkit") {
			continue
		}
		p := parsed{path: path, set: token.NewFileSet(), files: map[string]*ast.File{}}
		names, err := filepath.Glob(path + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			if p.files[name], err = parser.ParseFile(p.set, name, nil, parser.SkipObjectResolution); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, p)
	}
	allParsed = all
	return all
}

func (p parsed) imports(module string) bool {
	for _, file := range p.files {
		for _, spec := range file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if path == module || strings.HasPrefix(path, module+"/") {
				return true
			}
		}
	}
	return false
}

// names returns the package-level names, methods aside.
func (p parsed) names() map[string]declared {
	names := map[string]declared{}
	add := func(id *ast.Ident, kind string) {
		if id.Name != "_" && id.Name != "main" {
			names[id.Name] = declared{kind, id.Pos()}
		}
	}
	for _, file := range p.files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				add(f.Name, "func")
			}
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name, "type")
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						add(id, g.Tok.String())
					}
				}
			}
		}
	}
	return names
}

// locals returns the names that functions of the package declare.
func (p parsed) locals() map[string]bool {
	local := map[string]bool{}
	add := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok {
			local[id.Name] = true
		}
	}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					add(e)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key)
				add(n.Value)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				add(id)
			}
		case *ast.Field:
			for _, id := range n.Names {
				add(id)
			}
		case *ast.StructType, *ast.InterfaceType:
			return false // names of fields are not local names
		}
		return true
	}
	for _, file := range p.files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				ast.Inspect(f, visit)
			}
		}
	}
	return local
}

func isLowerWord(s string) bool {
	return len(s) > 1 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == ""
}

// commonWords lists words that do not explain a package-level name.
const commonWords = `
about above across adjectives affordable after again against ago ahead alien alike alive all alone also alternatives
always among any anything anys anywhere apart are as ask at bad bare bearable bad before begun behind below beside
between beyond big blank blank both brief but by capitals cautious census change changed changes chosen clean close
closes common compact complaints curly deep described different differing disguised distinct done doubts drafts drained
each either embeds emptied enclosed ends enough equal ever every everybody everything exact expected fatal few filled
final fine first fit fits fitting flat follow for forbidden foreign found four from front full further give given good
half has have heard held her here hidden his home how idle if in indeed input inside into invalid is it item items just
keep kept kind large last late least left legal less letter letters like literal local long longest look looks lossy
lost lower made many marks match matched me meant members merge misfit moment more most moved much must naming native
near nearby neighbours never new next no nobody none not nothing now number numbers of off offer often ok old on once
one ones open opened or order other ours out output outside over own owned owner owners owning own pair pairs part
parts passing pasted patience pieces place places plain plainly plural poor pour present pretty printable private
progress real reachable read ready real reasons rejected remembered repeated replaced required rest right roff roo room
rose run safe said same say says sealed second seconds see seen self set several shout shown short shortness silent
simple since single singular size skip skipped small so some somebody something soon sorted sound space spaced stalled
standing still stricter stripped such suggested sure survey suspicious take taken takes than that the their theirs them
then there these they thing things this those three through till time times to told tolerance too tops total true twice
two typed under undecodable unexpected unfit unknown unless unlisted unmarked unquoted unreachable unreached unready
unreadable until unwell unwrapped up upper us used value values very visible visibilities waits wake wanted wants was
ways we well were what when where whether which while who whole wholly why wide widened wider widest with within
without word wordly words worse written wrong yes yet you text name names line lines key keys label labels page pages
table tables term terms title
`
