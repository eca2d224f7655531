package page

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"maragu.dev/gomponents"
)

// changesSection is the section at "/changes".
var changesSection = section{
	path: "changes", title: "Changes", fields: "server page", data: readChanges,
	actions: map[string]func(*visit) (string, error){"accept": acceptChanges},
}

const (
	maxChangesShown = 20 // tools on a page
	maxPlacesShown  = 60 // changed places of a tool in HTML
	// ledgerWait bounds the time to read and to write the ledger.
	ledgerWait = 10 * time.Second
)

// changesData is the content of "/changes".
type changesData struct {
	Tools []changedRow `json:"tools"`
	pagination
	// Stored reports whether a ledger is kept. Without it nothing can be accepted.
	Stored bool `json:"stored"`
}

// changedRow is a tool that is new or changed.
type changedRow struct {
	describe.ChangedTool
	// Denied reports that the tool is held back for as long as this process runs, also after it is accepted.
	Denied bool `json:"denied,omitempty"`
}

// changedTools returns the tools of this gateway that a person may accept, by server, and the ledger, or nil if none is
// kept.
func (s *Site) changedTools(ctx context.Context) ([]describe.ChangedTool, ledger.Log, error) {
	ctx, cancel := context.WithTimeout(ctx, ledgerWait)
	defer cancel()
	attached := s.Gateway.Attached()
	entries, log := attached.Ledger().Log(), s.Ledger(ctx)
	if log != nil {
		_ = attached.Flush(ctx) // if it fails, older entries are read
		stored, err := log.Read(ctx, 0)
		if err != nil {
			return nil, nil, err
		}
		entries = stored
	}
	order := map[string]int{}
	for i, server := range attached.Fleet.Servers() {
		order[server.ID] = i + 1
	}
	all := show.Where(describe.ChangedTools(entries), func(o describe.ChangedTool) bool { return order[o.Server] > 0 })
	slices.SortStableFunc(all, func(a, b describe.ChangedTool) int {
		return cmp.Or(cmp.Compare(order[a.Server], order[b.Server]), strings.Compare(a.Tool, b.Tool))
	})
	return all, log, nil
}

func readChanges(v *visit) (*content, error) {
	all, log, err := v.site.changedTools(v.Context())
	if err != nil {
		return nil, err
	}
	if server := v.URL.Query().Get("server"); server != "" {
		all = show.Where(all, func(o describe.ChangedTool) bool { return o.Server == server })
	}
	d := &changesData{Tools: []changedRow{}, Stored: log != nil}
	all, d.pagination = paginate(v, all, maxChangesShown)
	for _, o := range all {
		o.Compare()
		d.Tools = append(d.Tools, changedRow{o, v.site.Gateway.Attached().Policy(o.Server) == config.DenyChanges})
	}
	return &content{d, func() gomponents.Node { return changesPage(v, d) }}, nil
}

// acceptChanges accepts tools, which the fields "tool" name as "indus mcp accept" does.
func acceptChanges(v *visit) (string, error) {
	words := v.PostForm["tool"]
	if len(words) == 0 {
		return "", errors.New("no tool is named: tool=NAME@VERSION, as the list has it")
	}
	all, log, err := v.site.changedTools(v.Context())
	switch {
	case err != nil:
		return "", err
	case log == nil:
		return "", errors.New(`no ledger is kept, so that nothing can be accepted: start "indus serve" without --no-ledger`)
	}
	selected, err := describe.SelectTools(all, words)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(v.Context(), ledgerWait)
	defer cancel()
	var accepted []ledger.Entry
	for _, o := range selected {
		accepted = append(accepted, o.Entry)
	}
	if err := ledger.Approve(ctx, log, v.author(), accepted...); err != nil {
		return "", err
	}
	names := show.Names(selected, func(o describe.ChangedTool) string { return o.Name })
	return "accepted " + show.List(names, show.MaxNamed, "tools"), nil
}

// author names the visitor in the ledger.
func (v *visit) author() string {
	if v.visitor.isOperator() {
		return "by " + describe.Account() + ", on the page"
	}
	return "by " + show.Clean(v.visitor.principal()) + ", on the page"
}

// shownPlaces returns the first changed places of a tool, and the number of the others.
func shownPlaces(o *changedRow) ([]ledger.Field, int) {
	n := min(len(o.Fields), maxPlacesShown)
	return o.Fields[:n], len(o.Fields) - n
}
