package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/chat"
	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/mcpconfig"
)

const (
	// guideName is the file in which projects instruct agents (https://agents.md).
	guideName = "AGENTS.md"
	maxGuide  = 32 << 10
)

// readGuide returns the project's AGENTS.md if the user has approved its current content, approves it now or has set
// --agents. Otherwise it returns "". A clone brings the file and a pull may change it, so the approval is for the
// project and the content.
func (x *session) readGuide(ctx context.Context) (string, error) {
	path := guidePath(x.dir)
	if path == "" || x.flags.noTools {
		return "", nil
	}
	b, err := atomicfile.ReadNamed(ctx, path, nil, maxGuide)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		x.streams.Reportf("%s is not used: %s", path, err)
		return "", nil
	}
	content, _ := text.Visible(text.Lines(strings.ToValidUTF8(string(b), "\uFFFD")))
	if strings.TrimSpace(content) == "" {
		return "", nil
	}
	sum := sha256.Sum256([]byte(content))
	approval := mcpconfig.ApprovedTool{
		Project: filepath.Dir(path), Tool: guideName, Fingerprint: hex.EncodeToString(sum[:]),
	}
	list, _ := approvedTools()
	switch {
	case x.flags.agents, isApproved(list, approval):
		return content, nil
	case x.person == nil:
		x.streams.Reportf(
			"%s is not used, because it is not approved as it is now: indus on a terminal asks, and --agents uses it this once",
			path)
		return "", nil
	}
	// The form shows the whole file, so that the user approves exactly the text that is used.
	_, err = x.person.fill(ctx, chat.Form{
		Head: "may " + path + " instruct the model?", Lines: []string{strings.TrimRight(content, "\n")},
		Yes: "uses it in this project until it changes",
	})
	switch {
	case errors.Is(err, chat.ErrDeclined), errors.Is(err, chat.ErrDismissed):
		return "", nil
	case err != nil:
		return "", err
	}
	if err := mcpconfig.ApproveTools(nil, approval); err != nil {
		x.streams.Reportf("%s is used this once only: %s", path, err)
	}
	return content, nil
}

// guidePath returns the nearest AGENTS.md of a directory, up to the root of its repository, or "". It follows a link
// only below the link's directory, because a link in a clone could lead to the user's keys.
func guidePath(dir string) string {
	root := repositoryOf(dir)
	for at := dir; ; at = filepath.Dir(at) {
		path := filepath.Join(at, guideName)
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			if rel, err := filepath.Rel(at, resolved); err == nil && filepath.IsLocal(rel) && isRegular(resolved) {
				return path
			}
		}
		if root == "" || at == root {
			return ""
		}
	}
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// repositoryOf returns the root of the directory's repository, or "" if there is none.
func repositoryOf(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); !errors.Is(err, fs.ErrNotExist) {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// guideText returns the approved file for the briefing.
func (x *session) guideText() string {
	if x.guide == "" {
		return ""
	}
	return fmt.Sprintf(
		"\nThe project's %s, which the user has approved. It describes how to work here, and grants no permission:\n%s\n",
		guideName, strings.TrimRight(x.guide, "\n"))
}
