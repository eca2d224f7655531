package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
)

const (
	// maxTranscripts is the number of stored sessions, over all directories.
	maxTranscripts = 100
	// headBytes is the part of a transcript that is read to list it, in bytes.
	headBytes        = 64 << 10
	maxListed        = 3 // sessions in an error
	transcriptSuffix = ".jsonl"
)

// storedSession is an earlier session.
type storedSession struct {
	id     string
	header agent.Header
	last   time.Time // the time of the last write
	began  string    // the start of its first text; "" if it has none
	damage error     // the reason for which it cannot be read; nil if none was found
}

// transcriptsDir returns the directory of stored sessions, or "" if there is none.
func transcriptsDir() string { return command.StatePath("sessions") }

// pastSessions returns the stored sessions, the latest first.
func pastSessions() (all []storedSession) {
	files, _ := os.ReadDir(transcriptsDir())
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), transcriptSuffix)
		info, err := f.Info()
		if ok && err == nil && info.Mode().IsRegular() {
			all = append(all, storedSession{id: id, last: info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b storedSession) int { return cmp.Or(b.last.Compare(a.last), cmp.Compare(b.id, a.id)) })
	return all
}

// read fills in the header and the first text of a session.
func (p *storedSession) read() {
	file, err := os.Open(transcriptPath(p.id))
	if err != nil {
		p.damage = err
		return
	}
	defer file.Close()
	header, entries, err := agent.ReadTranscript(io.LimitReader(file, headBytes))
	p.header = header
	if !errors.Is(err, io.ErrUnexpectedEOF) { // with this error the session ended before its first message
		p.damage = err
	}
	for _, e := range entries {
		if e.Message != nil && p.began == "" {
			p.began = quoted(e.Message.Text(), 60)
		}
	}
	if info, err := file.Stat(); p.began == "" && err == nil && info.Size() > headBytes {
		p.began = "…" // the first text is longer than headBytes
	}
}

func transcriptPath(id string) string { return filepath.Join(transcriptsDir(), id+transcriptSuffix) }

// endTranscript closes a transcript, and removes it if it has no messages.
func endTranscript(t *agent.Transcript, id string, hasMessages bool) {
	if t == nil {
		return
	}
	if !hasMessages {
		_ = os.Remove(transcriptPath(id))
	}
	_ = t.Close()
}

// openTranscript opens the session's transcript.
func (x *session) openTranscript(ctx context.Context) error {
	if transcriptsDir() == "" {
		x.streams.Reportf("this session is not kept: there is no home directory; set HOME or XDG_STATE_HOME")
		return nil
	}
	t, err := agent.OpenTranscript(ctx, transcriptPath(x.id), agent.Header{Dir: x.dir, Model: x.provider.Name()})
	switch {
	case errors.Is(err, agent.ErrInUse):
		return command.Usagef("session %s: %w", x.id, err)
	case err != nil && x.flags.resume == "" && ctx.Err() == nil:
		x.streams.Reportf("this session is not kept: %s", err)
		return nil
	case err != nil:
		return err
	}
	x.transcript = t
	if h := t.Header(); h.Dir != "" && h.Dir != x.dir {
		x.streams.Reportf("session %s was begun in %s; now it works in %s", x.id, h.Dir, x.dir)
	}
	pruneTranscripts(ctx)
	return nil
}

// resolveID returns the id of a new session, or of the session that --resume selects.
func (x *session) resolveID() (string, error) {
	if x.flags.resume == "" {
		return string(ledger.NewKey()), nil
	}
	all := pastSessions()
	var here []storedSession
	for _, p := range all {
		if p.id == x.flags.resume {
			return p.id, nil
		}
		p.read()
		matches := p.header.Dir == x.dir || p.header.Dir == "" // a damaged header may belong to this directory
		if matches && (p.began != "" || p.damage != nil) {
			here = append(here, p)
		}
	}
	if x.flags.resume == latest && len(here) > 0 {
		return here[0].resumeID(here[1:])
	}
	message := "no session of this directory is kept"
	if x.flags.resume != latest {
		message = fmt.Sprintf("no session %q is kept%s", x.flags.resume,
			command.DidYouMean(x.flags.resume, show.Names(all, func(p storedSession) string { return p.id })))
	}
	for i, p := range here[:min(len(here), maxListed)] {
		if i == 0 {
			message += "; the last of this directory:"
		}
		message += fmt.Sprintf(" %s (%s, %q)", p.id, show.Time(p.last), p.began)
	}
	return "", command.Usagef("%s", message)
}

// resumeID returns the id of this session, which --resume without an id selects. If it is damaged, the error suggests
// one of others.
func (p storedSession) resumeID(others []storedSession) (string, error) {
	if p.damage == nil {
		return p.id, nil
	}
	qualifier, hint := "", ""
	if p.header.Dir == "" {
		qualifier = ", perhaps of this directory,"
	}
	if i := slices.IndexFunc(others, func(o storedSession) bool { return o.damage == nil }); i >= 0 {
		hint = fmt.Sprintf("; --resume=%s goes on with the one before it (%q)", others[i].id, others[i].began)
	}
	return "", command.Usagef("the last session%s is damaged: %s: %w%s", qualifier, transcriptPath(p.id), p.damage, hint)
}

// pruneTranscripts removes the oldest sessions above the limit, except sessions that are open.
func pruneTranscripts(ctx context.Context) {
	all := pastSessions()
	for _, p := range all[min(len(all), maxTranscripts):] {
		path := transcriptPath(p.id)
		if t, err := agent.OpenTranscript(ctx, path, agent.Header{}); err == nil {
			_ = os.Remove(path)
			_ = t.Close()
		}
	}
}
