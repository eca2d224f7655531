package mcpconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/filelock"
	"github.com/indusagi/indus/mcpconfig/internal/approvals"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Approve allows rows of a project's file to start in their present form. If a row changes in anything that an approval
// covers, it is held again. Approve stores the approvals in approvals.json of [StateDir]. It stores all of them or,
// with an error, none. A row without Approval is an error.
//
// Several processes may call it at once.
func Approve(o *Options, rows ...Row) error {
	for _, r := range rows {
		if r.Approval == "" {
			return fmt.Errorf("approve: server %s of %s has nothing to approve: it is %s", tree.Quote(r.Server.ID), r.File,
				r.State)
		}
		if r.Pinned() {
			return fmt.Errorf("approve: server %s of %s is not resolved: call Config.Resolve first", tree.Quote(r.Server.ID),
				r.File)
		}
	}
	return changeApprovals(o, rows, approvals.Approve)
}

// Revoke removes approvals, even if the rows have changed since. It is not an error if there is no approval to remove.
func Revoke(o *Options, rows ...Row) error {
	return changeApprovals(o, rows, approvals.Revoke)
}

// Approvals returns all approvals, ordered by file and id. If approvals.json cannot be trusted or read, it returns an
// error. If there is no file, there are no approvals.
func Approvals(o *Options) ([]Approved, error) { return newPlace(o).store().Read() }

func changeApprovals(o *Options, rows []Row, verb approvals.Verb) error {
	now := time.Now().UTC().Round(time.Second)
	var changes []Approved
	for _, r := range rows {
		// An approval is bound to the real path of a file. It outlives the file, and can be revoked without it.
		file := atomicfile.Real(r.File)
		changes = append(changes, Approved{
			File: file, ID: r.Server.ID, Project: r.Project, Fingerprint: r.Approval, Sandbox: r.Sandbox(), At: now,
		})
	}
	return newPlace(o).store().Change(verb, changes...)
}

// StateDir returns the directory in which indus keeps the user's state. It is Options.State, or else indus in
// $XDG_STATE_HOME, or else .local/state/indus in the home directory. It is "" if there is no home. The directory need
// not exist.
func StateDir(o *Options) string { return newPlace(o).State }

func (a Approved) approvedAt() string { return a.At.UTC().Format("2006-01-02 15:04:05 UTC") }

// covers reports whether a is an approval of the row, as far as that is known before anything is fetched.
func (a Approved) covers(approval string) bool {
	is, pin, pinned := strings.Cut(approval, pinSeparator)
	was, wasPin, wasPinned := strings.Cut(a.Fingerprint, pinSeparator)
	return is == was && pinned == wasPinned && (wasPin == pin || pin == "" && wasPin != "")
}

// findApproval returns the approval of a row, if there is one.
func findApproval(list []Approved, file, id, project string) (Approved, bool) {
	i := slices.IndexFunc(list, func(a Approved) bool { return a.File == file && a.ID == id && a.Project == project })
	if i < 0 {
		return Approved{}, false
	}
	return list[i], true
}

// Lock waits until no other process of this user holds the lock for editing configuration files with [Open] or
// [Rewrite]. Other processes that call Lock wait until unlock is called. If every editor holds the lock from reading to
// writing, no change is lost and no save fails with [ErrChanged]. Lock gives up when ctx ends, and after 30 seconds.
//
// If there is no state directory, or no file can be made in it, Lock returns at once, without a
// lock.
func Lock(ctx context.Context, o *Options) (unlock func(), err error) {
	s := newPlace(o).store()
	if s.Dir == "" || os.MkdirAll(s.Dir, 0o700) != nil || s.Check() != nil {
		return func() {}, ctx.Err()
	}
	path := filepath.Join(s.Dir, "edit.lock")
	waiting, cancel := context.WithTimeout(ctx, filelock.MaxWait)
	defer cancel()
	unlock, err = filelock.Lock(waiting, path)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		reason := fmt.Sprintf("another process has it since %v", filelock.MaxWait)
		return nil, &fileError{note: Note{File: path, Reason: reason, Hint: "try again"}, err: err}
	case err == nil || errors.Is(err, context.DeadlineExceeded):
		return unlock, err
	}
	return func() {}, ctx.Err()
}

// ApprovedTool is a tool that a person allowed to run without a question in a project.
type ApprovedTool struct {
	// Project is the absolute path of the directory, with its symbolic links resolved.
	Project string `json:"project"`
	// Tool is the name of the tool in that project: "bash", "github__create_issue".
	Tool string `json:"tool"`
	// Call is the single call that is approved, as it was shown to the person. If it is "", every call is approved.
	Call string `json:"call,omitempty"`
	// Fingerprint covers everything that the approval depends on: the tool's description of itself, its server, and the
	// whole call if Call is set.
	Fingerprint string `json:"fingerprint"`
	// At is the time of the approval, in UTC.
	At time.Time `json:"at"`
}

// ApproveTools stores tools in tool-approvals.json of [StateDir]. It stores all of them or, with an error, none. It
// sets At to the current time.
//
// Several processes may call it at once.
func ApproveTools(o *Options, tools ...ApprovedTool) error {
	for i := range tools {
		if tools[i].Project == "" || tools[i].Tool == "" || tools[i].Fingerprint == "" {
			return errors.New("approve: a tool needs its project, its name and its fingerprint")
		}
		tools[i].At = time.Now().UTC().Round(time.Second)
	}
	return newPlace(o).toolStore().Change(approvals.Approve, tools...)
}

// RevokeTools removes approvals, even if the tools have changed since. It is not an error if there is no approval to
// remove.
func RevokeTools(o *Options, tools ...ApprovedTool) error {
	return newPlace(o).toolStore().Change(approvals.Revoke, tools...)
}

// ApprovedTools returns all approvals, ordered by project and tool. If the file cannot be trusted or read, it returns
// an error. If there is no file, there are no approvals.
func ApprovedTools(o *Options) ([]ApprovedTool, error) { return newPlace(o).toolStore().Read() }

func (p *readContext) toolStore() approvals.Store[ApprovedTool] {
	compare := func(a, b ApprovedTool) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Call, b.Call))
	}
	return approvals.Store[ApprovedTool]{Dir: p.State, Name: "tool-approvals.json", Compare: compare}
}
