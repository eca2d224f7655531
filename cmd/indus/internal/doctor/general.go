package doctor

import (
	"cmp"
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
	"github.com/indusagi/indus/internal/locked"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
)

// generalSteps returns the steps that concern no single server.
func (d *doctor) generalSteps(ctx context.Context) []step {
	steps := d.fileSteps()
	if dirs := d.config.Avoided; len(dirs) > 0 {
		steps = append(steps,
			noteStep("path",
				"PATH has "+strings.Join(dirs, ", ")+
					", which lies in this project: servers that are not the project's do not look for programs there",
				"give a server that needs a program from there its whole path, and approve that"))
	}
	if d.all {
		steps = append(steps, d.startSteps()...)
	}
	if d.config.Cluster != nil && d.all {
		steps = append(steps, d.clusterSteps(ctx)...)
	}
	dir := mcpconfig.StateDir(nil)
	if dir == "" {
		return append(steps,
			noteStep("state", "there is no home directory, so nothing is remembered: no approvals, no ledger",
				"set HOME or XDG_STATE_HOME"))
	}
	return append(steps, stateStep(dir), approvalsStep(), ledgerStep(ctx, filepath.Join(dir, "ledger.jsonl")))
}

// startSteps names the servers that run with all rights of the user, and those that start whatever version is newest.
func (d *doctor) startSteps() (steps []step) {
	var free, newest []string
	for _, r := range d.config.Rows {
		t, ok := r.Server.Transport.(config.Stdio)
		if !ok || r.State != mcpconfig.Active {
			continue
		}
		if t.Sandbox == nil && !t.ActsElsewhere() && command.Unconfinable() == "" {
			free = append(free, r.Server.ID)
		}
		if s, err := locked.Parse(t.Command, t.Args); err == nil && t.Locked == nil && !s.IsExact() {
			newest = append(newest, r.Server.ID)
		}
	}
	if free != nil {
		steps = append(steps, noteStep("sandbox", show.List(free, show.MaxNamed, "servers")+": without a sandbox",
			"indus mcp sandbox allow "+show.ShellWord(free[0])+" --base package"))
	}
	if newest != nil {
		steps = append(steps, noteStep("lock",
			show.List(newest, show.MaxNamed, "servers")+": start the newest version of a package",
			"indus mcp lock "+show.ShellWord(newest[0])))
	}
	return steps
}

// clusterSteps connects to the cluster, and lists its members with their differences.
func (d *doctor) clusterSteps(ctx context.Context) (steps []step) {
	shared, err := command.OpenCluster(ctx, d.config.Cluster, 0, d.Streams)
	if err != nil {
		return []step{failedStep("cluster", err.Error(), `correct "cluster" in the configuration, or start NATS`)}
	}
	defer shared.Close()
	steps = append(steps, okStep("cluster", shared.Describe()))
	for _, w := range shared.Warnings() {
		steps = append(steps, noteStep("cluster", w, "see docs/scaling.md"))
	}
	members, err := shared.Members(ctx)
	switch {
	case err != nil:
		return append(steps, failedStep("members", err.Error(), "try again"))
	case len(members) == 0:
		return append(steps, noteStep("members", "no replica runs", "start indus serve with --replica"))
	}
	for _, line := range command.MemberLines(members) {
		steps = append(steps, okStep("member", line))
	}
	for _, d := range command.MemberDifferences(members) {
		steps = append(steps, noteStep("members", d.What, d.Remedy))
	}
	return steps
}

// fileSteps returns the steps on the files that exist, and on faults of whole files.
func (d *doctor) fileSteps() []step {
	found := command.FilesFound(d.config)
	var steps []step
	switch {
	case len(found) == 0:
		steps = append(steps, noteStep("files", "none; looked for: "+strings.Join(d.config.Searched, ", "),
			"write .indusvx/mcp.json, or name a file with --mcp"))
	case len(d.config.Rows) == 0:
		steps = append(steps,
			noteStep("files", strings.Join(found, ", ")+": no servers", `write {"servers": {"NAME": {"command": "…"}}}`))
	default:
		steps = append(steps, okStep("files", strings.Join(found, ", ")))
	}
	for _, n := range d.config.Notes {
		if n.Row > 0 {
			continue
		}
		one := step{Step: "file",
			Detail: mcpconfig.Note{File: n.File, Line: n.Line, Column: n.Column, Reason: n.Reason}.String(),
			Advice: cmp.Or(n.Hint, "correct the file, or remove it")}
		info, err := os.Stat(n.File)
		one.OK = n.File == "" || err == nil && info.IsDir() ||
			slices.ContainsFunc(d.config.Rows, func(r mcpconfig.Row) bool { return r.File == n.File })
		steps = append(steps, one)
	}
	return steps
}

// stateStep checks whether the state directory can be written. If it does not exist, the nearest parent is checked.
func stateStep(dir string) step {
	const stored = ": approvals and the ledger are kept in "
	existing := dir
	info, err := os.Stat(existing)
	for (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) && filepath.Dir(existing) != existing {
		existing = filepath.Dir(existing)
		info, err = os.Stat(existing)
	}
	switch {
	case err != nil:
		return failedStep("state", err.Error(), "make it readable"+stored+dir)
	case !info.IsDir():
		return failedStep("state", existing+" is not a directory", "move it away"+stored+dir)
	}
	switch err := tryWriting(existing); {
	case errors.Is(err, syscall.ENOSPC):
		return failedStep("state", existing+": "+err.Error(), "make room there, or set XDG_STATE_HOME"+stored+dir)
	case err != nil:
		return failedStep("state", existing+" cannot be written",
			"make it yours and writable, or set XDG_STATE_HOME"+stored+dir)
	case existing != dir:
		return okStep("state", dir+": not there yet, and can be made")
	}
	return okStep("state", dir)
}

// tryWriting creates a file in a directory and writes to it. An empty file would fit on a full disk.
func tryWriting(dir string) error {
	f, err := os.CreateTemp(dir, ".indus-doctor-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close())
}

// approvalsStep checks whether the approvals can be read and trusted.
func approvalsStep() step {
	list, err := mcpconfig.Approvals(nil)
	if err != nil {
		reason, hint, _ := strings.Cut(err.Error(), "; ")
		return failedStep("approvals", reason, cmp.Or(hint, "correct or remove it"))
	}
	if len(list) == 0 {
		return okStep("approvals", "none")
	}
	return okStep("approvals", show.Count(len(list), "server"))
}

// ledgerStep checks whether the ledger is unaltered.
func ledgerStep(ctx context.Context, path string) step {
	switch exists, err := command.LedgerExists(path); {
	case err != nil:
		return failedStep("ledger", err.Error(), "make it readable, or move it away if it is no ledger")
	case !exists && command.WasRemoved(path):
		return failedStep("ledger", path+" was removed, and its approvals with it",
			"restore it, or begin a new one: indus serve")
	case !exists:
		return okStep("ledger", "none yet")
	}
	at := time.Now()
	file, err := command.OpenLedger(ctx, path, command.HeldWait, nil)
	if err != nil {
		return failedStep("ledger", err.Error(), "make it readable and writable, and end the process that locks it")
	}
	report, err := file.Verify(ctx)
	switch {
	case err != nil:
		return failedStep("ledger", err.Error(), "make it readable")
	case len(report.Damage) > 0 && !slices.ContainsFunc(report.Damage, isAltered):
		return noteStep("ledger", path+": "+report.Damage[0].Why,
			"see which tools have waited since then: indus mcp accept").withDuration(time.Since(at))
	case len(report.Damage) > 0:
		return failedStep("ledger",
			fmt.Sprintf("%s is not as it was written in %s, first: %s", path, show.Count(len(report.Damage), "place"),
				report.Damage[0]),
			"indus mcp verify shows them all; move the file away to begin a new one; tools then need approval again",
		).withDuration(time.Since(at))
	}
	return okStep("ledger", path+": "+show.Count(report.Entries, "line")+", as written").withDuration(time.Since(at))
}

// isAltered reports whether damage is an alteration. The exception is the entry with which a removed ledger begins
// anew. That entry stays, and its tools wait for approval.
func isAltered(d ledger.Damage) bool { return d.Kind != ledger.Missing || d.Seq != 0 }
