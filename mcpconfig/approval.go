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

// lockWait is how long [Approve] waits for another process that writes; writing
// takes milliseconds.
const lockWait = 10 * time.Second

// Approved is a row that somebody approved.
type Approved struct {
	// File is absolute, its symbolic links resolved.
	File string `json:"file"`
	// ID of the row.
	ID string `json:"id"`
	// Project is the [Row.Project]; "" of a row of the project's own file.
	Project string `json:"project,omitempty"`
	// Fingerprint is the [Row.Approval] of what was approved.
	Fingerprint string `json:"fingerprint"`
	// At is when, in UTC.
	At time.Time `json:"at"`
}

// Approve lets rows of a project's file start from now on, as they are: a row that
// changes what would run is held again. It remembers them in approvals.json of
// [StateDir], all or, with an error, none. A row without Approval is an error.
//
// It may be called by several processes at once.
func Approve(o *Options, rows ...Row) error {
	for _, r := range rows {
		if r.Approval == "" {
			return fmt.Errorf("approve: server %s of %s has nothing to approve: it is %s", tree.Quote(r.Server.ID), r.File, r.State)
		}
		if r.Pinned() {
			return fmt.Errorf("approve: server %s of %s is not resolved: call Config.Resolve first", tree.Quote(r.Server.ID), r.File)
		}
	}
	return changeApprovals(o, rows, approvals.Approve)
}

// Revoke takes approvals back, whatever the rows say by now. That there is none is
// no error.
func Revoke(o *Options, rows ...Row) error {
	return changeApprovals(o, rows, approvals.Revoke)
}

// Approvals are all that hold, by file and id. An approvals.json that cannot be
// trusted or read is an error, and no file is none.
func Approvals(o *Options) ([]Approved, error) {
	list, err := newPlace(o).store().Read()
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	return list, nil
}

func changeApprovals(o *Options, rows []Row, verb approvals.Verb) error {
	now := time.Now().UTC().Round(time.Second)
	var changes []Approved
	for _, r := range rows {
		// An approval is bound to where a file really is, outlives it, and can be taken back.
		changes = append(changes, Approved{File: atomicfile.Real(r.File), ID: r.Server.ID, Project: r.Project, Fingerprint: r.Approval, At: now})
	}
	return newPlace(o).store().Change(verb, changes...)
}

// StateDir is where indus keeps what it remembers for the user: Options.State, else
// indus in $XDG_STATE_HOME, else .local/state/indus in the home directory. It is ""
// where there is no home, and need not exist.
func StateDir(o *Options) string { return newPlace(o).State }

// remembered are the approvals that a reading goes by: none where they cannot be trusted.
func (p *readContext) remembered() []Approved {
	list, err := p.store().Read()
	if err != nil {
		p.notes = append(p.notes, Note{Reason: "approvals: " + err.Error()})
	}
	return list
}

func (a Approved) at() string { return a.At.UTC().Format("2006-01-02 15:04:05 UTC") }

// covers reports whether it is for a row, as far as that can be known before anything is fetched.
func (a Approved) covers(approval string) bool {
	is, pin, pinned := strings.Cut(approval, pinSeparator)
	was, wasPin, wasPinned := strings.Cut(a.Fingerprint, pinSeparator)
	return is == was && pinned == wasPinned && (wasPin == pin || pin == "" && wasPin != "")
}

// find is the approval of one row, if there is one.
func find(list []Approved, file, id, here string) (Approved, bool) {
	i := slices.IndexFunc(list, func(a Approved) bool { return a.File == file && a.ID == id && a.Project == here })
	if i < 0 {
		return Approved{}, false
	}
	return list[i], true
}

func (p *readContext) store() approvals.Store[Approved] {
	compare := func(a, b Approved) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Project, b.Project))
	}
	return approvals.Store[Approved]{Dir: p.State, Name: "approvals.json", Compare: compare}
}

// lockFile waits for a lock of this user's.
func lockFile(ctx context.Context, dir, name string) (unlock func(), err error) {
	path := filepath.Join(dir, name)
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err = filelock.Lock(waiting, path)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, &fileError{note: Note{File: path, Reason: fmt.Sprintf("another process has it since %v", lockWait), Hint: "try again"}, err: err}
	}
	return unlock, err
}

// Lock waits until no other process of this user's that asked for it is editing a
// configuration file, with [Open] or [Rewrite], and keeps the others waiting until unlock
// is called: from the reading of a file to the writing none of their changes is lost, and
// nobody's fails with [ErrChanged]. It gives up with ctx, and after 10 seconds.
//
// Where there is no state directory, or nothing can be made in it, nobody waits.
func Lock(ctx context.Context, o *Options) (unlock func(), err error) {
	s := newPlace(o).store()
	if s.Dir != "" && os.MkdirAll(s.Dir, 0o700) == nil && s.Check() == nil {
		if unlock, err = lockFile(ctx, s.Dir, "edit.lock"); err == nil || errors.Is(err, context.DeadlineExceeded) {
			return unlock, err
		}
	}
	return func() {}, ctx.Err()
}

// ApprovedTool is a tool that somebody lets run unasked in a project.
type ApprovedTool struct {
	// Project is the directory, absolute, its symbolic links resolved.
	Project string `json:"project"`
	// Tool is what the tool is called there: "bash", "github__create_issue".
	Tool string `json:"tool"`
	// Call is the one call that is approved, as a person was shown it; "" is any.
	Call string `json:"call,omitempty"`
	// Fingerprint is of all that the approval holds on to: what the tool says of itself, what its server runs, the
	// whole call where there is one.
	Fingerprint string `json:"fingerprint"`
	// At is when, in UTC.
	At time.Time `json:"at"`
}

// ApproveTools remembers tools in tool-approvals.json of [StateDir], all or, with an error, none. At is set to now.
//
// It may be called by several processes at once.
func ApproveTools(o *Options, tools ...ApprovedTool) error {
	for i := range tools {
		if tools[i].Project == "" || tools[i].Tool == "" || tools[i].Fingerprint == "" {
			return errors.New("approve: a tool needs its project, its name and its fingerprint")
		}
		tools[i].At = time.Now().UTC().Round(time.Second)
	}
	return newPlace(o).toolStore().Change(approvals.Approve, tools...)
}

// RevokeTools takes approvals back, whatever the tools are by now. That there is none is no error.
func RevokeTools(o *Options, tools ...ApprovedTool) error {
	return newPlace(o).toolStore().Change(approvals.Revoke, tools...)
}

// ApprovedTools are all that hold, by project and tool. A file that cannot be trusted or read is an error, and no file is none.
func ApprovedTools(o *Options) ([]ApprovedTool, error) {
	list, err := newPlace(o).toolStore().Read()
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	return list, nil
}

func (p *readContext) toolStore() approvals.Store[ApprovedTool] {
	compare := func(a, b ApprovedTool) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Call, b.Call))
	}
	return approvals.Store[ApprovedTool]{Dir: p.State, Name: "tool-approvals.json", Compare: compare}
}
