package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/ledger"
	"maragu.dev/gomponents"
)

// approvalsSection is the section at "/approvals".
var approvalsSection = section{
	path: "approvals", title: "Approvals", fields: "page id", data: readApprovals,
	actions: map[string]func(*visit) (string, error){
		"allow": func(v *visit) (string, error) { return decideApproval(v, true) },
		"deny":  func(v *visit) (string, error) { return decideApproval(v, false) },
	},
}

const (
	maxWaitingShown = 25 // on a page
	maxPastShown    = 50
)

// approvalsData is the content of "/approvals".
type approvalsData struct {
	// Waiting has the calls that wait, the first to expire first.
	Waiting []approvalRow `json:"waiting"`
	pagination
	// ID is the only approval that is shown, or "".
	ID string `json:"id,omitempty"`
	// Past has the latest decided, used and expired approvals of the last days, the newest first. Older is the number of
	// the others.
	Past  []approvalRow `json:"past"`
	Older int           `json:"older,omitempty"`
}

// approvalRow is an approval, and what the visitor may do about it.
type approvalRow struct {
	approval.Item
	MayAllow bool `json:"mayAllow"`
	MayDeny  bool `json:"mayDeny"`
	// Refusal is the reason for which the visitor may not allow the call.
	Refusal string `json:"refusal,omitempty"`
	// Claim is the claim of the server about the effect of the tool, or "".
	Claim string `json:"claim,omitempty"`
	// Change is set if the tool differs from its approved version now.
	Change *changedRow `json:"change,omitempty"`
}

func readApprovals(v *visit) (*content, error) {
	items, err := v.site.Control.Approvals.List(v.Context(), &approval.Filter{All: true})
	if err != nil {
		return nil, err
	}
	id := strings.ToUpper(strings.TrimSpace(v.URL.Query().Get("id")))
	if id != "" {
		items = show.Where(items, func(i approval.Item) bool { return i.ID == id })
	}
	waiting := show.Where(items, func(i approval.Item) bool { return i.State == approval.Waiting })
	past := show.Where(items, func(i approval.Item) bool { return i.State != approval.Waiting })
	slices.SortStableFunc(waiting, func(a, b approval.Item) int { return a.Expires.Compare(b.Expires) })
	slices.SortStableFunc(past, func(a, b approval.Item) int { return latestOf(&b).Compare(latestOf(&a)) })
	d := &approvalsData{Waiting: []approvalRow{}, Past: []approvalRow{}, ID: id}
	waiting, d.pagination = paginate(v, waiting, maxWaitingShown)
	if d.Waiting, err = v.waitingRows(waiting); err != nil {
		return nil, err
	}
	for _, i := range past[:min(len(past), maxPastShown)] {
		d.Past = append(d.Past, approvalRow{Item: i})
	}
	d.Older = len(past) - len(d.Past)
	return &content{d, func() gomponents.Node { return approvalsPage(v, d) }}, nil
}

// waitingRows returns calls that wait, with the changes of their tools.
func (v *visit) waitingRows(waiting []approval.Item) ([]approvalRow, error) {
	rows := []approvalRow{}
	changed, err := v.changesOf(waiting)
	if err != nil {
		return nil, err
	}
	for _, i := range waiting {
		row := v.approvalRow(i)
		if row.Change = changed[toolName{i.Server, i.Tool}]; row.Change != nil {
			row.Changed = "" // the card shows the difference of now
		}
		row.Claim = v.claimOf(&i)
		rows = append(rows, row)
	}
	return rows, nil
}

// claimOf returns the claim of a server about the effect of a call, or "".
func (v *visit) claimOf(call *approval.Item) string {
	claims := v.site.Control.ApprovalItem(call).Claims
	isTrue := func(claim *bool) bool { return claim != nil && *claim }
	switch {
	case isTrue(claims.Destructive):
		return "it may destroy something"
	case isTrue(claims.ReadOnly):
		return "it changes nothing"
	}
	return ""
}

// toolName is a tool of a server.
type toolName struct{ server, tool string }

// changesOf returns the tools of calls that differ from their approved version.
func (v *visit) changesOf(waiting []approval.Item) (map[toolName]*changedRow, error) {
	called := map[toolName]bool{}
	for _, i := range waiting {
		called[toolName{i.Server, i.Tool}] = true
	}
	isCalled := func(e ledger.Entry) bool { return called[toolName{e.Server, e.Tool}] }
	if !slices.ContainsFunc(v.site.Gateway.Attached().Changed(), isCalled) {
		return nil, nil // without reading the ledger
	}
	all, _, err := v.site.changedTools(v.Context())
	if err != nil {
		return nil, err
	}
	changed := map[toolName]*changedRow{}
	for _, o := range all {
		if isCalled(o.Entry) {
			o.Compare()
			changed[toolName{o.Server, o.Tool}] = &changedRow{ChangedTool: o}
		}
	}
	return changed, nil
}

// latestOf returns the time of the last event of an approval.
func latestOf(i *approval.Item) time.Time {
	times := []time.Time{i.Asked, i.Decided, i.Used}
	if i.State == approval.Expired {
		times = append(times, i.Expires)
	}
	return slices.MaxFunc(times, time.Time.Compare)
}

// approvalRow returns an approval with the rights of the visitor.
func (v *visit) approvalRow(i approval.Item) approvalRow {
	check := func(allow bool) error { return v.checkDecision(&i, approval.Decision{Allow: allow}) }
	row := approvalRow{Item: i, MayDeny: check(false) == nil}
	if err := check(true); err != nil {
		row.Refusal = err.Error()
	} else {
		row.MayAllow = true
	}
	return row
}

// sign completes a decision with its channel: the operator decides as on the command line, and an administrator under
// the own name.
func (v *visit) sign(d approval.Decision) approval.Decision {
	d.Channel = approval.ByOperator
	if !v.visitor.isOperator() {
		d.Channel, d.By = approval.ByPage, v.visitor.principal()
	}
	return d
}

// checkDecision returns an error if the visitor may not decide so about a call.
func (v *visit) checkDecision(i *approval.Item, d approval.Decision) error {
	if !v.visitor.isOperator() && !v.site.Control.MayApprove(v.visitor.id, i, addressOf(v.Request)) {
		return fmt.Errorf(`%s may not approve calls of this tool: the policy decides by Action::"approve"`,
			v.visitor.principal())
	}
	return i.Check(v.sign(d))
}

func decideApproval(v *visit, allow bool) (string, error) {
	book := v.site.Control.Approvals
	id := v.PostForm.Get("id")
	item, err := book.Item(v.Context(), id)
	if err != nil {
		return "", err
	}
	d := v.sign(approval.Decision{Allow: allow, Reason: strings.TrimSpace(v.PostForm.Get("reason"))})
	if err := v.checkDecision(&item, d); err != nil {
		return "", err
	}
	if item, err = book.Decide(v.Context(), id, d); err != nil {
		return "", err
	}
	return describe.Decided(&item), nil
}

// callOf returns the title of a call.
func callOf(i *approval.Item) string { return show.Escaped(i.Tool) + " of " + show.Escaped(i.Server) }

// escapedLines returns a text of several lines, with all invisible and control characters as escapes.
func escapedLines(text string) string { return show.EscapedExcept(text, "\n") }
