package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	actions: map[string]func(*visit) (string, error){"accept": acceptChanges, "refuse": refuseChanges},
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
	// Refused has tools whose version a person has refused. They stay held back, and can be accepted.
	Refused []changedRow `json:"refused,omitempty"`
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
	refused := show.Where(all, func(o describe.ChangedTool) bool { return o.Refused != "" })
	all, d.pagination = paginate(v, show.Where(all, isOpenChange), maxChangesShown)
	for _, o := range all {
		d.Tools = append(d.Tools, v.changedRow(o))
	}
	for _, o := range refused[:min(len(refused), maxChangesShown)] {
		d.Refused = append(d.Refused, v.changedRow(o))
	}
	return &content{d, func() gomponents.Node { return changesPage(v, d) }}, nil
}

// isOpenChange reports whether a tool waits for the decision of a person.
func isOpenChange(o describe.ChangedTool) bool { return o.Refused == "" }

// changedRow returns a tool with its differences.
func (v *visit) changedRow(o describe.ChangedTool) changedRow {
	o.Compare()
	return changedRow{o, v.site.Gateway.Attached().Policy(o.Server) == config.DenyChanges}
}

// selectChanges returns the tools that the fields "tool" name as for "indus mcp accept", and the ledger.
func (v *visit) selectChanges() ([]describe.ChangedTool, ledger.Log, error) {
	words := v.PostForm["tool"]
	if len(words) == 0 {
		return nil, nil, errors.New("no tool is named: tool=NAME@VERSION, as the list has it")
	}
	all, log, err := v.site.changedTools(v.Context())
	switch {
	case err != nil:
		return nil, nil, err
	case log == nil:
		return nil, nil, errors.New(`no ledger is kept, so that nothing can be accepted or refused: ` +
			`start "indus serve" without --no-ledger`)
	}
	selected, err := describe.SelectTools(all, words)
	return selected, log, err
}

// acceptChanges accepts tools.
func acceptChanges(v *visit) (string, error) {
	selected, log, err := v.selectChanges()
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

// refuseChanges refuses versions of tools that are held back. They stay held back, and no longer wait for a person.
func refuseChanges(v *visit) (string, error) {
	selected, log, err := v.selectChanges()
	if err != nil {
		return "", err
	}
	var refused []ledger.Entry
	for _, o := range selected {
		if !o.Held {
			return "", fmt.Errorf(`%s is live, because changes of %s are accepted: "changes": "hold" in the configuration `+
				`holds back such tools`, o.Name, o.Server)
		}
		refused = append(refused, o.Entry.Refusal(v.author()))
	}
	ctx, cancel := context.WithTimeout(v.Context(), ledgerWait)
	defer cancel()
	if _, err := log.Append(ctx, refused...); err != nil {
		return "", err
	}
	names := show.Names(selected, func(o describe.ChangedTool) string { return o.Name })
	return "refused " + show.List(names, show.MaxNamed, "tools"), nil
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
