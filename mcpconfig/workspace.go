package mcpconfig

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/approvals"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
)

// processDir returns the directory that has the directories of a server's processes. It is "" if there is no place for
// them. Ids may be any text.
func (p *readContext) processDir(id string) string {
	if p.State == "" {
		return ""
	}
	plain := strings.Map(func(c rune) rune {
		if c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' && c < 0x80 {
			return c
		}
		return '_'
	}, id)
	const maxName = 40
	name := fmt.Sprintf("%s-%.4x", plain[:min(len(plain), maxName)], sha256.Sum256([]byte(id)))
	return filepath.Join(p.State, "servers", name)
}

// prepare makes the directories in which servers start. If a directory cannot be made, the row is skipped.
func (p *readContext) prepare(e *entry) {
	t, ok := e.Server.Transport.(config.Stdio)
	if !ok || !t.Fresh {
		return
	}
	hint := `set XDG_STATE_HOME to a directory that you alone can write, or give the server a "cwd"`
	fail := func(reason string) {
		e.Server = config.Server{ID: e.Server.ID}
		e.Approval = ""
		e.file.setState(e, Skipped, "it has no directory to start in: "+reason, hint)
	}
	if t.Dir == "" {
		fail("there is no home directory")
		return
	}
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		fail(fmt.Sprintf("%s: %s", t.Dir, edit.Reason(err)))
		return
	}
	for _, dir := range []string{p.State, filepath.Dir(t.Dir), t.Dir} {
		info, err := os.Lstat(dir)
		if err == nil && dir != p.State && !info.IsDir() {
			fail(dir + " is no directory but a link")
			return
		}
		if err := approvals.CheckPrivate(dir); err != nil {
			fail(err.Error())
			return
		}
	}
}
