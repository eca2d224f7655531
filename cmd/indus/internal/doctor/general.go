package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
)

// general is what concerns no server by itself.
func (d *doctor) general(ctx context.Context) []step {
	steps := d.files()
	dir := mcpconfig.StateDir(nil)
	if dir == "" {
		return append(steps, note("state", "there is no home directory, so nothing is remembered: no approvals, no ledger",
			"set HOME or XDG_STATE_HOME"))
	}
	return append(steps, stateStep(dir), approvalsStep(), ledgerStep(ctx, filepath.Join(dir, "ledger.jsonl")))
}

// files says which files were found, and what is wrong with whole ones.
func (d *doctor) files() []step {
	found := command.FilesFound(d.config)
	var steps []step
	switch {
	case len(found) == 0:
		steps = append(steps, note("files", "none; looked for: "+strings.Join(d.config.Searched, ", "),
			"write .indusvx/mcp.json, or name a file with --mcp"))
	case len(d.config.Rows) == 0:
		steps = append(steps, note("files", strings.Join(found, ", ")+": no servers", `write {"servers": {"NAME": {"command": "…"}}}`))
	default:
		steps = append(steps, good("files", strings.Join(found, ", ")))
	}
	for _, n := range d.config.Notes {
		if n.Row > 0 {
			continue
		}
		one := step{Step: "file", Detail: mcpconfig.Note{File: n.File, Line: n.Line, Column: n.Column, Reason: n.Reason}.String(),
			Advice: orElse(n.Hint, "mend the file, or remove it")}
		one.OK = n.File == "" || slices.ContainsFunc(d.config.Rows, func(r mcpconfig.Row) bool { return r.File == n.File })
		if info, err := os.Stat(n.File); err == nil && info.IsDir() {
			one.OK = true
		}
		steps = append(steps, one)
	}
	return steps
}

// stateStep says whether the state directory, or where it will be, can be written.
func stateStep(dir string) step {
	there := dir
	for {
		info, err := os.Stat(there)
		if err == nil && !info.IsDir() {
			return bad("state", there+" is not a directory", "move it away: approvals and the ledger are kept in "+dir)
		}
		if err == nil {
			break
		}
		above := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		if !above || filepath.Dir(there) == there {
			return bad("state", err.Error(), "make it readable: approvals and the ledger are kept there")
		}
		there = filepath.Dir(there)
	}
	switch err := tryWriting(there); {
	case errors.Is(err, syscall.ENOSPC):
		return bad("state", there+": "+err.Error(), "make room there, or set XDG_STATE_HOME: approvals and the ledger are kept in "+dir)
	case err != nil:
		return bad("state", there+" cannot be written", "make it yours and writable, or set XDG_STATE_HOME: approvals and the ledger are kept in "+dir)
	}
	if there != dir {
		return good("state", dir+": not there yet, and can be made")
	}
	return good("state", dir)
}

// tryWriting tries whether a file can be made in a directory, and written.
func tryWriting(dir string) error {
	f, err := os.CreateTemp(dir, ".indus-doctor-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	const some = 4096 // what is empty fits on a full disk
	_, err = f.Write(make([]byte, some))
	return errors.Join(err, f.Close())
}

// approvalsStep says whether what was approved can be read, and be relied on.
func approvalsStep() step {
	list, err := mcpconfig.Approvals(nil)
	if err != nil {
		reason, hint, ok := strings.Cut(err.Error(), "; ")
		if !ok {
			hint = "mend or remove it"
		}
		return bad("approvals", reason, hint)
	}
	if len(list) == 0 {
		return good("approvals", "none")
	}
	return good("approvals", show.Count(len(list), "server"))
}

// ledgerStep says whether the ledger is as it was written.
func ledgerStep(ctx context.Context, path string) step {
	switch there, err := command.LedgerExists(path); {
	case err != nil:
		return bad("ledger", err.Error(), "make it readable, or move it away if it is no ledger")
	case !there:
		return good("ledger", "none yet")
	}
	at := time.Now()
	file, err := command.OpenLedger(ctx, path, command.HeldWait, nil)
	if err != nil {
		return bad("ledger", err.Error(), "make it readable and writable, and end whoever holds it")
	}
	report, err := file.Verify(ctx)
	switch {
	case err != nil:
		return bad("ledger", err.Error(), "make it readable")
	case len(report.Damage) > 0:
		return bad("ledger", fmt.Sprintf("%s is not as it was written in %s, first: %s", path, show.Count(len(report.Damage), "place"), report.Damage[0]),
			"indus mcp verify shows them all; move the file away to begin anew, and what was approved is asked for again").lasting(time.Since(at))
	}
	return good("ledger", path+": "+show.Count(report.Entries, "line")+", as written").lasting(time.Since(at))
}
