package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/host"
	"github.com/spf13/cobra"
)

// tokenVariable is the environment variable with the bearer token that clients send.
const tokenVariable = "INDUS_TOKEN"

// admission holds the flags that control which clients may connect over HTTP.
type admission struct {
	tokenFile string
	auth      []string
	url       string
	issuers   []string
	audience  []string
	scopes    []string
	insecure  bool
	origins   []string
	hosts     []string
}

func (a *admission) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.tokenFile, "token-file", "", `FILE  bearer tokens that are valid for every view, one
		per line ("openssl rand -hex 32" creates one); $INDUS_TOKEN is another. The file is read again when it changes`)
	cmd.Flags().Var(command.Listed(&a.auth), "auth", `HOW  how clients authenticate, or several ways with commas: keys
		("indus key add" creates one), jwt (a token of an --issuer), introspect (a token that an authorization server
		checks), none (default: "auth" of the configuration; without it every client is the local user)`)
	cmd.Flags().StringVar(&a.url, "public-url", "", `URL  the scheme and host at which clients reach indus, such
		as https://mcp.example.com (default: the Host header, which must name this machine or an --allow-host)`)
	cmd.Flags().Var(command.Repeated(&a.issuers), "issuer", `URL  an authorization server that issues valid tokens,
		exactly as it names itself; may be repeated`)
	cmd.Flags().Var(command.Repeated(&a.audience), "audience", `NAME  the audience of tokens of --issuer, if it is not
		the URL of the view; may be repeated`)
	cmd.Flags().Var(command.Repeated(&a.scopes), "scope", `NAME  a scope that tokens of --issuer must have, and that
		clients request; {view} stands for the view, * for /mcp; may be repeated`)
	cmd.Flags().BoolVar(&a.insecure, "insecure", false,
		"listen on other addresses of this machine too, and admit every client")
	cmd.Flags().Var(command.Repeated(&a.origins), "allow-origin", `URL  web pages of this origin may connect, besides
		pages of this machine; may be repeated`)
	cmd.Flags().Var(command.Repeated(&a.hosts), "allow-host", `NAME  clients may use this host name, besides
		localhost; may be repeated (default: any name, except on loopback)`)
	_ = cmd.MarkFlagFilename("token-file")
	_ = cmd.RegisterFlagCompletionFunc("auth", cobra.FixedCompletions(authMethods, cobra.ShellCompDirectiveNoFileComp))
}

// check refuses values that would admit no client, or every client.
func (a *admission) check(cmd *cobra.Command) error {
	if stdio, _ := cmd.Flags().GetBool("stdio"); stdio {
		for _, name := range []string{
			"token-file", "auth", "public-url", "issuer", "audience", "scope", "insecure", "allow-origin", "allow-host",
		} {
			if cmd.Flags().Changed(name) {
				return command.Usagef("--stdio and --%s exclude each other: the process that starts it is its client", name)
			}
		}
	}
	if err := a.checkAuth(); err != nil {
		return err
	}
	for _, o := range a.origins {
		if u, err := url.Parse(o); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o ||
			strings.Contains(o, "*") {
			return command.Usagef("--allow-origin %q: write SCHEME://HOST[:PORT], such as https://app.example.com", o)
		}
	}
	for _, h := range a.hosts {
		if u, err := url.Parse("http://" + h); err != nil || u.Host != h || u.Hostname() == "" || strings.Contains(h, "*") {
			return command.Usagef("--allow-host %q: write NAME or NAME:PORT, such as mcp.example.com", h)
		}
	}
	return nil
}

// plainTokens returns a verifier for the tokens of --token-file and of the environment, or nil if there are none.
func (a *admission) plainTokens(ctx context.Context, s show.Streams) (identity.Verifier, error) {
	env := os.Getenv(tokenVariable)
	t := &tokenSource{file: a.tokenFile, env: env, s: s, wait: pipeWait}
	switch {
	case a.tokenFile != "":
		if err := t.read(ctx); err != nil {
			return nil, command.Usagef("--token-file %w", err)
		}
		return t, nil
	case env != "":
		if err := t.tokens.Set(env); err != nil {
			return nil, command.Usagef("$%s: %w", tokenVariable, err)
		}
		return &t.tokens, nil
	}
	return nil, nil
}

// pipeWait is the time limit for tokens from a pipe: a program behind <(…) may ask for a passphrase.
const pipeWait = 30 * time.Second

// tokenSource holds the tokens of a file and of the environment. If the file changes, it is read again, unless it is a
// pipe.
type tokenSource struct {
	file, env string
	s         show.Streams
	wait      time.Duration // time limit for a pipe
	tokens    identity.Tokens

	mu         sync.Mutex
	states     fileStates
	singleRead bool // the file can be read only once
	checked    time.Time
	warned     bool
}

// Verify implements [identity.Verifier].
func (t *tokenSource) Verify(ctx context.Context, token string) (*identity.Identity, error) {
	t.mu.Lock()
	if now := time.Now(); now.Sub(t.checked) >= followTick && !t.singleRead {
		t.checked = now
		if files := []string{t.file}; !statFiles(files).same(t.states, files) {
			if err := t.read(context.Background()); err != nil {
				t.s.Reportf("--token-file %v; the tokens that were read before stay valid", err)
			} else {
				t.s.Reportf("--token-file %s was read again", t.file)
			}
		}
	}
	t.mu.Unlock()
	return t.tokens.Verify(ctx, token)
}

// read reads the tokens of the file, one per line. It skips empty lines and lines that begin with #. The caller must
// hold mu, unless no other goroutine uses t yet.
func (t *tokenSource) read(ctx context.Context) error {
	first := t.states == nil
	t.states = statFiles([]string{t.file}) // before the read, so that later changes are noticed
	if info := t.states[t.file].info; info != nil {
		switch mode := info.Mode(); {
		case mode.IsRegular():
			if mode.Perm()&0o077 != 0 && runtime.GOOS != "windows" && !t.warned {
				t.warned = true
				t.s.Reportf("warning: other users may read %s (mode %#o); \"chmod 600 %s\" keeps the tokens to yourself", t.file,
					mode.Perm(), t.file)
			}
		case first:
			t.singleRead = true
		default: // reading a pipe would block forever
			return fmt.Errorf("%s is no file any more", t.file)
		}
	}
	if t.singleRead {
		waiting, cancel := context.WithTimeout(ctx, t.wait)
		defer cancel()
		ctx = waiting
	}
	text, err := command.FileReader(ctx, t.s.In)(t.file)
	switch {
	case t.singleRead && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf(
			"%s: no program wrote into this pipe and closed it for %v: name a file, or start the program that writes first",
			t.file, t.wait)
	case err != nil:
		return err
	}
	var tokens []string
	if t.env != "" {
		tokens = append(tokens, t.env)
	}
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			tokens = append(tokens, line)
		}
	}
	if len(tokens) == 0 {
		return fmt.Errorf("%s: it has no token: write one on a line of its own", t.file)
	}
	if err := t.tokens.Set(tokens...); err != nil {
		return fmt.Errorf("%s: %w", t.file, err)
	}
	return nil
}

// keyPath returns the path of the sealing keys, or "" if there is no state directory.
func (f *serveFlags) keyPath() string {
	return cmp.Or(f.keyFile, command.StatePath("serve.keys"))
}

// keys returns the keys that seal the state that clients hold: ids of sessions and tasks, and states of requests. By
// default they are stored for the user, so that this state can outlive the process.
func (f *serveFlags) keys(ctx context.Context, s show.Streams) (*host.Keys, error) {
	path := f.keyPath()
	err := f.checkKeys(path)
	if path == "" || err != nil {
		return nil, err
	}
	if f.keyFile == "" {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	var keys *host.Keys
	if err == nil {
		keys, err = host.KeyFile(ctx, path)
	}
	switch {
	case err != nil && f.keyFile != "":
		return nil, command.Usagef("--key-file %w", err)
	case err != nil:
		s.Reportf("%v; client data is encrypted with a key that is valid only for this run", err)
		return nil, nil
	}
	return keys, nil
}
