package keys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/identity"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

// New is the command key.
func New(s show.Streams) *cobra.Command {
	return command.NewGroup(cobra.Command{
		Use: "key", SuggestFor: []string{"keys", "apikey", "token"}, Short: "API keys of those who may use indus serve", Long: keyHelp,
	}, newAdd(s), newLs(s), newRm(s))
}

const keyHelp = `API keys of those who may use "indus serve --auth keys", on this machine and
others. A client sends its key as a bearer token, as indus_ID.SECRET; only the
SHA-256 of the secret is kept, in a file that you alone can read. A key that is
removed, or has expired, is refused from the next request on.

Usage:
  indus key add [FLAG]...    make a key, and print it this once
  indus key ls [--json]      which keys are there?
  indus key rm ID...         end keys
  indus key COMMAND -h       all about a command

A session:
  $ indus key add --principal alice --view github --expires 90d
  indus: made the key k7q2m4xw9t of alice, for github, until 2026-10-26 15:04:05
  indus: it is shown this once; a client sends it as "Authorization: Bearer KEY"
  indus_k7q2m4xw9t.SECRET
  $ indus serve --auth keys
  indus: serving at http://127.0.0.1:7332/mcp

` + keyExitHelp

const keyExitHelp = `Exit codes:
  0    ok
  1    the file of keys cannot be read or written
  2    usage: flags, and no such key
  130  interrupted`

// FileName is that of the keys, in the state directory.
const FileName = "serve.apikeys.json"

// Path is where the keys are kept; "" where there is no state directory.
func Path() string {
	dir := mcpconfig.StateDir(nil)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, FileName)
}

// openKeys is the keys of the user.
func openKeys() (*identity.Keys, error) {
	path := Path()
	if path == "" {
		return nil, fault(errors.New("there is no place for them: set $HOME or $XDG_STATE_HOME"))
	}
	return identity.NewKeys(path), nil
}

// openToWrite is those in a directory that is there.
func openToWrite() (*identity.Keys, error) {
	keys, err := openKeys()
	if err == nil {
		if err = os.MkdirAll(filepath.Dir(Path()), 0o700); err != nil {
			err = fault(err)
		}
	}
	return keys, err
}

// fault is an error of the file.
func fault(err error) error {
	return &command.ExitError{Code: command.ExitFault, Err: fmt.Errorf("keys: %w", err)}
}
