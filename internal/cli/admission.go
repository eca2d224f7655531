package cli

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

// tokenVariable has the bearer token that clients send.
const tokenVariable = "INDUS_TOKEN"

// admission says who may connect over HTTP.
type admission struct {
	tokenFile string
	insecure  bool
	origins   []string
	hosts     []string
}

func (a *admission) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.tokenFile, "token-file", "", "the bearer tokens that clients send, one a line")
	cmd.Flags().BoolVar(&a.insecure, "insecure", false, "listen beyond loopback without a token")
	cmd.Flags().StringArrayVar(&a.origins, "allow-origin", nil, "an origin whose web pages may connect")
	cmd.Flags().StringArrayVar(&a.hosts, "allow-host", nil, "a name by which clients may reach it")
	_ = cmd.MarkFlagFilename("token-file")
}

// check refuses values that would admit nobody, or everybody.
func (a *admission) check(cmd *cobra.Command) error {
	if over, _ := cmd.Flags().GetBool("stdio"); over {
		for _, name := range []string{"token-file", "insecure", "allow-origin", "allow-host"} {
			if cmd.Flags().Changed(name) {
				return usage("--stdio and --%s exclude each other: whoever starts it is its client", name)
			}
		}
	}
	for _, o := range a.origins {
		if u, err := url.Parse(o); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o || strings.Contains(o, "*") {
			return usage("--allow-origin %q: write SCHEME://HOST[:PORT], such as https://app.example.com", o)
		}
	}
	for _, h := range a.hosts {
		if u, err := url.Parse("http://" + h); err != nil || u.Host != h || u.Hostname() == "" || strings.Contains(h, "*") {
			return usage("--allow-host %q: write NAME or NAME:PORT, such as mcp.example.com", h)
		}
	}
	return nil
}

// principal is host.Options.Principal; nil where no token is asked for.
func (a *admission) principal(s streams) (func(*http.Request) (toolbox.Principal, error), error) {
	env := os.Getenv(tokenVariable)
	t := &tokenSource{file: a.tokenFile, env: env, s: s}
	switch {
	case a.tokenFile != "":
		if err := t.read(); err != nil {
			return nil, usage("--token-file %w", err)
		}
		return t.principal, nil
	case env != "":
		if err := t.tokens.Set(env); err != nil {
			return nil, usage("$%s: %w", tokenVariable, err)
		}
		return t.tokens.Principal, nil
	}
	return nil, nil
}

// tokenSource is the tokens of a file, which is read anew when it changes, and of the
// environment.
type tokenSource struct {
	file, env string
	s         streams
	tokens    host.Tokens

	mu     sync.Mutex
	seen   sight
	looked time.Time
	warned bool
}

func (t *tokenSource) principal(r *http.Request) (toolbox.Principal, error) {
	t.mu.Lock()
	if now := time.Now(); now.Sub(t.looked) >= followTick {
		t.looked = now
		if files := []string{t.file}; !look(files).same(t.seen, files) {
			if err := t.read(); err != nil {
				t.s.tell("--token-file %v; the tokens of before stay valid", err)
			} else {
				t.s.tell("--token-file %s was read again", t.file)
			}
		}
	}
	t.mu.Unlock()
	return t.tokens.Principal(r)
}

// read takes the tokens of the file: one a line, but for empty lines and those that
// begin with #. Call it with mu held, or alone.
func (t *tokenSource) read() error {
	t.seen = look([]string{t.file}) // first: what changes meanwhile is read again
	f, err := os.Open(t.file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" && !t.warned {
		t.warned = true
		t.s.tell("warning: other users may read %s (mode %#o); \"chmod 600 %s\" keeps the tokens to yourself", t.file, mode, t.file)
	}
	var tokens []string
	if t.env != "" {
		tokens = append(tokens, t.env)
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			tokens = append(tokens, line)
		}
	}
	err = lines.Err()
	if err == nil && len(tokens) == 0 {
		err = errors.New("it has no token: write one on a line of its own")
	}
	if err == nil {
		err = t.tokens.Set(tokens...)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.file, err)
	}
	return nil
}
