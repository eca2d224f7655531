package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"golang.org/x/term"
)

// followTick is the interval at which the files of the configuration are checked. A check is a stat of each file. It
// also works for missing files, and on network and bind mounts, where systems report no changes.
const followTick = time.Second

const (
	// settleTick is the delay before a changed file is checked again.
	settleTick = 300 * time.Millisecond
	// maxUnstable is the number of differing checks after which a file is read even though it keeps changing.
	maxUnstable = 5
)

// follower keeps the gateway in line with the configuration. It reads a change once two checks agree, because editors
// write a file in steps.
type follower struct {
	flags   *serveFlags
	s       show.Streams
	gateway *gateway.Gateway
	local   *builtins
	front   *frontGuard
	signIns *signin.Tokens
	keys    *host.Keys       // the sealing keys; nil if they are not from a file
	hangup  <-chan os.Signal // triggers a reload
	leave   func()           // called when the terminal is gone
	control *controls
	public  *publisher

	served       atomic.Pointer[mcpconfig.Config] // the configuration that is served
	files        followedFiles                    // the files that can change it, or the policy
	keyFiles     followedFiles                    // the file of keys, if there is one
	signInStates fileStates                       // the state of the file of sign-ins at the last check
	broken       bool                             // the configuration read last cannot be served
	notes        map[string]bool                  // the notes that were reported
}

// followedFiles finds changes of files. A change counts once two checks agree, because editors write a file in steps.
type followedFiles struct {
	paths    []string
	states   fileStates // when the files were read
	pending  fileStates // at the last check, if it was different
	unstable int        // successive checks that differed
}

// setRead stores the files, and their states when they were read.
func (f *followedFiles) setRead(paths []string, states fileStates) {
	*f = followedFiles{paths: paths, states: states}
}

// check compares the files with their states when they were read. changed reports that they differ and are stable, and
// unstable that another check is needed soon.
func (f *followedFiles) check() (now fileStates, changed, unstable bool) {
	now = statFiles(f.paths)
	switch {
	case now.same(f.states, f.paths):
		f.pending, f.unstable = nil, 0
	case f.pending != nil && now.same(f.pending, f.paths), f.unstable == maxUnstable:
		return now, true, false
	default:
		f.pending = now
		f.unstable++
		return now, false, true
	}
	return now, false, false
}

// fileStates holds the visible state of files that are not opened. A file that is missing in it differs from every
// state.
type fileStates map[string]fileState

type fileState struct {
	info os.FileInfo // if nil, see err
	err  string
}

func statFiles(files []string) fileStates {
	s := fileStates{}
	for _, f := range files {
		info, err := os.Stat(f)
		s[f] = fileState{info, fmt.Sprint(err)}
	}
	return s
}

// same reports whether the files have the same state. The time of the last write counts, and the time of the last read
// does not.
func (s fileStates) same(o fileStates, files []string) bool {
	return !slices.ContainsFunc(files, func(f string) bool {
		a, aSeen := s[f]
		b, bSeen := o[f]
		return !aSeen || !bSeen || !a.same(b)
	})
}

func (a fileState) same(b fileState) bool {
	if a.info == nil || b.info == nil {
		return a.info == nil && b.info == nil && a.err == b.err
	}
	return os.SameFile(a.info, b.info) && a.info.Size() == b.info.Size() && a.info.Mode() == b.info.Mode() &&
		a.info.ModTime().Equal(b.info.ModTime())
}

// withoutRecent removes the files that may have been written after began, because their content may have been read too
// early.
func (s fileStates) withoutRecent(began time.Time) fileStates {
	const coarse = 20 * time.Millisecond // resolution of the clock for file times
	for f, g := range s {
		if g.info != nil && !g.info.ModTime().Before(began.Add(-coarse)) {
			delete(s, f)
		}
	}
	return s
}

// singleReadFile returns a named file that can be read only once, such as a pipe, or "". Such a configuration cannot be
// followed.
func singleReadFile(f *command.ConfigFlags) string {
	i := slices.IndexFunc(f.Paths, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && !info.Mode().IsRegular() && !info.IsDir()
	})
	if i < 0 {
		return ""
	}
	return f.Paths[i]
}

// hasTerminal reports whether input or errors are connected to a terminal.
func hasTerminal(s show.Streams) bool {
	return slices.ContainsFunc([]any{s.In, s.Err}, func(stream any) bool {
		file, ok := stream.(*os.File)
		return ok && term.IsTerminal(int(file.Fd()))
	})
}

// begin records the configuration that is served from the start, and the time at which its reading began.
func (w *follower) begin(c *mcpconfig.Config, began time.Time) {
	w.notes = map[string]bool{}
	w.served.Store(c)
	w.watch(c, began, nil)
	if w.keys != nil {
		paths := []string{w.flags.keyPath()}
		w.keyFiles.setRead(paths, statFiles(paths).withoutRecent(began))
	}
	w.signInStates = statFiles([]string{w.signIns.Path()}).withoutRecent(began)
	for _, n := range c.Notes {
		w.notes[n.String()] = true
	}
	w.notes = w.reportNotes(c)
}

// watch follows the files of a configuration and of its policy, which were read after began. earlier has states from
// before they were read.
func (w *follower) watch(c *mcpconfig.Config, began time.Time, earlier fileStates) {
	paths := slices.Concat(c.Watched, w.control.watched())
	if p := w.flags.policyOf(c); p != nil && p.Path != "" { // also if it cannot be used yet
		paths = append(paths, p.Path)
	}
	states := statFiles(paths).withoutRecent(began)
	maps.Copy(states, earlier)
	w.files.setRead(paths, states)
}

// follow follows the configuration until ctx ends.
func (w *follower) follow(ctx context.Context) {
	tick := time.NewTimer(followTick)
	defer tick.Stop()
	ticks := tick.C
	if path := singleReadFile(&w.flags.ConfigFlags); path != "" {
		w.s.Reportf("%s can be read only once: changes of it are not seen", path)
		ticks = nil
	}
	attended := hasTerminal(w.s)
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.hangup:
			if attended && !hasTerminal(w.s) {
				w.leave() // the user has closed the window
				return
			}
			w.rekey(true)
			if ticks != nil {
				w.reload(ctx, statFiles(w.files.paths), true)
			} else {
				w.control.reload(w.gateway, w.s)
				w.flags.publish(w.served.Load(), w.control)
			}
		case <-ticks:
			tick.Reset(w.tick(ctx))
		}
	}
}

// rekey reads the file of sealing keys again, and reports it if they are others or a person has requested it. Sealed
// state stays valid while its key is in the file.
func (w *follower) rekey(requested bool) {
	if w.keys == nil {
		return
	}
	changed, err := w.keys.Reread(w.flags.keyPath())
	switch {
	case err != nil:
		w.s.Reportf("%v; client data is encrypted with the previous keys", err)
	case changed || requested:
		w.s.Reportf("the keys that encrypt client data were read again")
	}
}

// tick checks the files, and reads them once they have changed and are stable. It returns the delay until the next
// check.
func (w *follower) tick(ctx context.Context) time.Duration {
	path := []string{w.signIns.Path()}
	if w.signIns.Changed() || !w.signInStates.same(statFiles(path), path) { // a user has signed in or out
		w.signInStates = statFiles(path)
		w.signIns.Reread(ctx)
		w.gateway.Attached().Fleet.Retry(func(f *interop.Fault) bool { return f.NeedsSignIn() })
	}
	keys, changed, unstableKeys := w.keyFiles.check()
	if changed {
		w.keyFiles.setRead(w.keyFiles.paths, keys)
		w.rekey(false)
	}
	now, changed, unstable := w.files.check()
	if changed {
		w.reload(ctx, now, false)
	}
	if unstable || unstableKeys {
		return settleTick
	}
	return followTick
}

// reload reads the policy and the configuration and serves them, or reports the reason of a failure. now is the state
// of the files before the read.
func (w *follower) reload(ctx context.Context, now fileStates, requested bool) {
	began := time.Now()
	w.control.reload(w.gateway, w.s)
	c, err := w.readAll(ctx)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		err = w.flags.checkSingles(c)
	}
	if err != nil {
		w.watch(w.served.Load(), began, now)
		w.broken = true
		w.s.Reportf("%s; the previous configuration stays in use", err)
		return
	}
	defer w.watch(c, began, now)
	defer func() { w.flags.publish(w.served.Load(), w.control) }()
	served := w.served.Load()
	// Before the servers, so that clients admitted until now do not get the new ones.
	if err := w.front.follow(served, c, w.s); err != nil {
		w.notes, w.broken = w.reportNotes(c), true
		w.s.Reportf("%v; the previous configuration stays in use, and every client is admitted", err)
		return
	}
	if err := w.control.follow(w.flags.policyOf(served), w.flags.policyOf(c), w.gateway, w.s); err != nil {
		w.notes, w.broken = w.reportNotes(c), true
		w.s.Reportf("%v; the configuration that was read before stays in effect", err)
		return
	}
	if !w.flags.auditOf(served).Equal(w.flags.auditOf(c)) {
		w.s.Reportf("\"audit\" has changed: it counts from the next start on")
	}
	w.apply(c, requested)
}

// readAll reads the configuration. If a file that had servers, views or the policy cannot be read any more, it returns
// an error.
func (w *follower) readAll(ctx context.Context) (*mcpconfig.Config, error) {
	if path := singleReadFile(&w.flags.ConfigFlags); path != "" { // reading a pipe would block forever
		return nil, fmt.Errorf("%s is no file any more", path)
	}
	c, err := w.flags.ConfigFlags.Read(ctx)
	if err != nil {
		return nil, err
	}
	used := usedFiles(c)
	for _, file := range slices.Sorted(maps.Keys(usedFiles(w.served.Load()))) {
		if used[file] {
			continue
		}
		if err := readError(ctx, file); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// usedFiles returns the files that have servers, views or the policy.
func usedFiles(c *mcpconfig.Config) map[string]bool {
	files := map[string]bool{}
	for _, r := range c.Rows {
		files[r.File] = true
	}
	for _, v := range c.Views {
		files[v.File] = true // otherwise a project's view of the same name would replace it
	}
	if c.Policy != nil {
		files[c.Policy.File] = true
	}
	return files
}

// readError returns the reason for which a file is not used any more, or nil if the file is valid.
func readError(ctx context.Context, file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is gone", file)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file any more", file)
	}
	_, err = mcpconfig.Read(ctx, []string{file}, &mcpconfig.Options{Dry: true})
	return err
}

// apply serves c, and reports the changes.
func (w *follower) apply(c *mcpconfig.Config, requested bool) {
	served := w.served.Load()
	changed, differs := describeChanges(served, c)
	w.signIns.Hide(c.Servers()...)
	w.served.Store(c) // before the events of the servers, by which the page is read again
	w.flags.singles.apply(c.Servers())
	w.gateway.Reload(c.Servers(), w.flags.views(c)) // also if only their order changed
	w.public.publish(c)
	w.local.withdraw(c)
	reported := w.reportNotes(c)
	switch {
	case w.broken:
		w.s.Reportf("the configuration can be read again: %s", changed)
	case differs:
		w.s.Reportf("the configuration has changed: %s", changed)
	case requested:
		w.s.Reportf("the configuration was read again: %s", changed)
	}
	command.ReportHeld(newlyHeld(served, c), w.s)
	w.notes, w.broken = reported, false
}

// reportNotes reports the notes that are new, and returns all notes.
func (w *follower) reportNotes(c *mcpconfig.Config) (all map[string]bool) {
	all = map[string]bool{}
	for _, n := range c.Notes {
		text := n.String()
		all[text] = true
		if command.UnexpectedNotes(n) && !w.notes[text] {
			w.s.Reportf("%s", text)
		}
	}
	for _, text := range w.flags.viewNotes(c) {
		all[text] = true
		if !w.notes[text] {
			w.s.Reportf("%s", text)
		}
	}
	return all
}

// newlyHeld returns the rows that wait for approval now, but did not wait in the same form before.
func newlyHeld(before, after *mcpconfig.Config) *mcpconfig.Config {
	out := &mcpconfig.Config{}
	for _, r := range after.Held() {
		known := slices.ContainsFunc(before.Held(), func(o mcpconfig.Row) bool {
			return o.File == r.File && o.Server.ID == r.Server.ID && o.Approval == r.Approval
		})
		if !known {
			out.Rows = append(out.Rows, r)
		}
	}
	return out
}

// maxNamedServers limits the names of servers in one part of a report.
const maxNamedServers = 12

// describeChanges describes the changes of servers and views, and reports whether there are any.
func describeChanges(before, after *mcpconfig.Config) (text string, differs bool) {
	previous, changes, unchanged := map[string]config.Server{}, map[string][]string{}, 0
	for _, s := range before.Servers() {
		previous[s.ID] = s
	}
	for _, s := range after.Servers() {
		old, known := previous[s.ID]
		delete(previous, s.ID)
		switch {
		case !known:
			changes["added"] = append(changes["added"], s.ID)
		case old.Equal(s):
			unchanged++
		default:
			changes["changed"] = append(changes["changed"], s.ID)
		}
	}
	for _, s := range before.Servers() {
		if _, gone := previous[s.ID]; gone {
			changes["removed"] = append(changes["removed"], s.ID)
		}
	}
	var parts []string
	for _, verb := range []string{"added", "changed", "removed"} {
		if ids := changes[verb]; ids != nil {
			parts = append(parts, show.Clean(verb+" "+show.List(ids, maxNamedServers, "servers")))
		}
	}
	if !slices.EqualFunc(before.Views, after.Views, sameView) {
		parts = append(parts, "other views")
	}
	return strings.Join(append(parts, fmt.Sprintf("%d unchanged", unchanged)), "; "), parts != nil
}

// sameView reports whether two views are equal, apart from their position in files.
func sameView(a, b mcpconfig.View) bool {
	b.File, b.Line = a.File, a.Line
	return reflect.DeepEqual(a, b)
}
