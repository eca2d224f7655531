package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/testkit/fixture"
)

// secretForms returns a secret in every encoding in which a server may repeat it. No output may contain any of them or
// its start.
func secretForms(secret string) []string {
	quoted, _ := json.Marshal(secret)
	inner := string(quoted[1 : len(quoted)-1])
	twice, _ := json.Marshal(inner)
	list := []string{
		secret, inner, string(twice[1 : len(twice)-1]), url.QueryEscape(secret), url.PathEscape(secret),
		url.QueryEscape(url.QueryEscape(secret)), hex.EncodeToString([]byte(secret)),
	}
	for _, before := range []string{"", "a", "ab"} {
		list = append(list, base64.StdEncoding.EncodeToString([]byte(before+secret)),
			base64.RawURLEncoding.EncodeToString([]byte(before+secret)))
	}
	return list
}

// findSecret returns the part of a secret that an output contains, in any encoding, or "".
func findSecret(output, secret string) string {
	for _, form := range secretForms(secret) {
		for at := 0; at+10 <= len(form); at++ {
			if part := form[at : at+10]; strings.Contains(output, part) {
				return part
			}
		}
	}
	return ""
}

// quiet matches places whose text no command shows, or not in full.
var quiet = regexp.MustCompile(`info|version|cut.* stdout|cut.* 307|server/discover -era modern`)

// untilAnswered is the stdin and stdout of a client of serve. The input ends with the answer to the last request.
type untilAnswered struct {
	mu       sync.Mutex
	said     bytes.Buffer
	answered chan struct{}
	once     sync.Once
}

func (u *untilAnswered) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n, err := u.said.Write(b)
	if strings.Contains(u.said.String(), `"id":3`) {
		u.once.Do(func() { close(u.answered) })
	}
	return n, err
}

func (u *untilAnswered) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.said.String()
}

func (u *untilAnswered) Read([]byte) (int, error) {
	<-u.answered
	return 0, io.EOF
}

// TestNoCommandShowsWhatAServerRepeats runs servers that repeat their secrets in every place and every encoding. The
// place may also be where indus cuts long text. No command and no client may show them.
func TestNoCommandShowsWhatAServerRepeats(t *testing.T) {
	const secret = `s3cr3t/"hunter2"+&%41 ünd`
	useHomeDir(t)
	t.Setenv("GIVEN", secret)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	quoted, _ := json.Marshal(secret)
	from := fmt.Sprintf("${file:%s}", file("given", secret))
	given := map[string]string{ // how the server receives it
		"env":      `"env":{"KEY":"${GIVEN}"}`,
		"literal":  fmt.Sprintf(`"env":{"KEY":%s}`, quoted),
		"file":     fmt.Sprintf(`"env":{"KEY":"x-%s-y"}`, from),
		"cmd":      fmt.Sprintf(`"env":{"KEY":"${cmd:cat %s}"}`, filepath.Join(dir, "given")),
		"argument": `"env":{"X":"y"},"args":["-stderr","--token=${GIVEN}",%s]`,
		"header":   `"headers":{"X-Key":"${GIVEN}"}`,
		"bearer":   `"headers":{"Authorization":"Bearer ${GIVEN}"}`,
	}
	all := strings.Join(secretForms(secret), " ; ")
	says := map[string]string{
		"whole": all, "cut": strings.Repeat("x", 285) + secret, "cut encoded": strings.Repeat("x", 285) +
			base64.StdEncoding.EncodeToString([]byte(secret)),
	}
	type place struct{ where, flags string }
	stdio := []place{
		{"stderr", "-exit"}, {"stderr", "-hang server/discover,initialize"}, {"stdout", "-era legacy"}, {"initialize", "-era legacy"}, {"initialize,server/discover", "-era legacy -probe empty"},
		{"server/discover", "-era modern"}, {"tools/list", ""}, {"tools/call", ""}, {"info", "-era legacy"}, {"info", "-era modern"},
		{"version", "-era legacy"}, {"version", "-era modern"}, {"progress", "-era legacy"}, {"progress", "-era modern"},
		{"prompts/list,resources/list,resources/read,completion/complete", "-era legacy"},
	}
	http := []place{
		{"prompts/list,resources/list,resources/read,completion/complete", ""},
		{"status", "-status 401"}, {"status", "-status 500"}, {"status", "-status 307"}, {"status", "-status 404"}, {"status", "-status 404 -sse"}, {"initialize,server/discover", "-sse-answers"},
		{"tools/list", "-sse-answers"}, {"tools/call", "-sse-answers"}, {"tools/call", "-sse"}, {"tools/call", "-era legacy"},
	}
	var running sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	try := func(name, row string) { // as t.Parallel, which refuses a test with its own environment
		free <- struct{}{}
		body := func(t *testing.T) {
			of, err := os.MkdirTemp(dir, "")
			if err != nil {
				t.Fatal(err)
			}
			config, ledger := file(filepath.Base(of)+"/servers.json", `{"servers":{"one":`+row+`}}`), filepath.Join(of, "ledger")
			masked, everything := false, ""
			lines := []string{
				"mcp ls", "mcp ls --json", "mcp doctor", "mcp doctor --json", "mcp get one", "mcp get one --json", "mcp tools -v",
				"mcp tools --json", "mcp lint",
				"mcp call one__progress", "mcp call one__progress --json", "mcp call one__nothing -v", "mcp log", "mcp log --json",
				"serve --stdio", "serve --stdio -v",
			}
			if strings.Contains(name, "resources/read") { // these methods do not belong to tools
				lines = []string{
					"mcp prompts -v", "mcp prompts --json", "mcp prompt one__x", "mcp resources", "mcp read a://b --server one -v",
					"mcp read a://b --server one --json",
					"mcp complete a://{b} b= --server one",
				}
			}
			for _, args := range lines {
				words := strings.Fields(args)
				if words[1] != "log" {
					words = append(words, "--mcp", config)
				}
				if words[1] != "doctor" && words[1] != "get" {
					words = append(words, "--ledger", ledger)
				}
				out, errs := &untilAnswered{answered: make(chan struct{})}, &untilAnswered{answered: make(chan struct{})}
				if words[0] == "serve" {
					cmd := timedCommand(words...)
					if plain := plainIndus(); plain != "" { // the texts are tested, and no concurrency
						cmd.Path = plain
					}
					cmd.Stdout, cmd.Stderr = out, errs
					cmd.Stdin = io.MultiReader(strings.NewReader(
						`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"one__progress","arguments":{},"_meta":{"progressToken":"p"}}}
`), out)
					if err := cmd.Run(); err != nil {
						t.Errorf("%s: %v", args, err)
					}
				} else {
					command.Run(t.Context(), words, show.New(strings.NewReader(""), out, errs), tree)
				}
				said := out.String() + errs.String()
				if part := findSecret(said, secret); part != "" {
					t.Errorf("%s shows %q:\n%s", args, part, said)
				}
				masked, everything = masked || strings.Contains(said, "<secret"), everything+args+":\n"+said
			}
			if !masked && !quiet.MatchString(name) {
				t.Error("nothing was repeated: the test tests nothing\n" + everything)
			}
		}
		running.Go(func() {
			t.Run(name, body)
			<-free
		})
	}
	step := fixture.Size(t, 20, 5) // the distance of two places
	for how, gives := range given {
		for form, text := range says {
			shift := len(how+form)%5 + 5*rand.IntN(step/5)
			say := file("say "+form, text)
			places, web := stdio, strings.Contains(gives, "headers")
			if web {
				places = http
			}
			for i, p := range places {
				if (how != "env" && how != "header" || form != "whole") && (i%step != shift ||
					strings.Contains(p.flags, "hang")) {
					continue // not every pair, but every place and every way
				}
				flags := append([]string{"-say", say, "-say-in", p.where}, strings.Fields(p.flags)...)
				row, timeout := "", "20s"
				if strings.Contains(p.flags, "hang") {
					timeout = "500ms"
				}
				if web {
					row = fmt.Sprintf(`{"url":%q,%s,"timeout":%q}`, fixture.New(t, flags...).HTTP(), gives, timeout)
				} else {
					list, _ := json.Marshal(flags)
					args := fmt.Sprintf(`%s,"args":%s`, gives, list)
					if strings.Contains(gives, "args") {
						args = fmt.Sprintf(gives, strings.Trim(string(list), "[]"))
					}
					row = fmt.Sprintf(`{"command":%q,%s,"timeout":%q}`, fixture.Build(t), args, timeout)
				}
				try(strings.Join([]string{how, form, p.where, p.flags}, " "), row)
			}
		}
	}
	running.Wait()
}
