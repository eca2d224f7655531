package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/audit"
	"maragu.dev/gomponents"
)

// auditSection is the section at "/audit".
var auditSection = section{
	path: "audit", title: "Audit", data: readAudit,
	fields:  "principal tool server client view approval trace outcome since until text before record",
	actions: map[string]func(*visit) (string, error){"verify": verifyAudit},
}

const (
	maxRecordsShown = 100 // on a page
	// lateRecords bounds how much later than its request a record is written. The search for records since a time goes
	// on for so long.
	lateRecords = 24 * time.Hour
	verifyWait  = time.Minute
	// maxReportLines bounds the lines of damage on the page.
	maxReportLines = 100
)

// maxLiveSearch bounds the records that are read for a table that is shown again after each new record.
const maxLiveSearch = 10_000

// searchWait bounds a search. The next search goes on at the same place.
var searchWait = 2 * time.Second

// auditData is the content of "/audit".
type auditData struct {
	// Recorded reports whether requests are recorded.
	Recorded bool `json:"recorded"`
	// Records has the records as the file has them, the newest first.
	Records []json.RawMessage `json:"records"`
	// Next is the value of "before" with which the search goes on. It is 0 if all records are searched.
	Next uint64 `json:"next,omitempty"`
	// Stopped reports that the time for a search was over.
	Stopped bool `json:"stopped,omitempty"`
	// Damaged is the number of lines that cannot be read.
	Damaged int `json:"damaged,omitempty"`
	// Verification is the answer to the action "verify".
	Verification *describe.Verification `json:"verification,omitempty"`

	rows []audit.Record
	form auditForm
	live bool // the newest records are shown, and are found fast
	// recent has the IDs of the records whose requests are among the last ones of "/calls".
	recent map[string]bool
}

// auditForm holds the fields of the search.
type auditForm struct {
	describe.AuditQuery
	Text   string // a part of the record; case does not count
	Record string // the ID of the only record
}

func readAudit(v *visit) (*content, error) {
	d := &auditData{Recorded: v.site.AuditPath != "", Records: []json.RawMessage{}}
	d.form = auditFormOf(v.URL.Query())
	shown := &content{d, func() gomponents.Node { return auditPage(v, d) }}
	if !d.Recorded {
		return shown, nil
	}
	filter, err := d.form.Filter(time.Now())
	if err != nil {
		v.failed = show.Clean(err.Error())
		if wantsJSON(v.Request) {
			return nil, queryError{err}
		}
		return shown, nil
	}
	d.recent = map[string]bool{}
	for _, r := range v.site.Control.Activity.Recent() {
		d.recent[r.ID] = true
	}
	filter.Before, _ = strconv.ParseUint(v.URL.Query().Get("before"), 10, 64)
	return shown, d.search(v.Context(), v.site.AuditPath, &filter)
}

// auditFormOf returns the fields of a query.
func auditFormOf(q url.Values) auditForm {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return auditForm{
		AuditQuery: describe.AuditQuery{
			Principal: get("principal"), Tool: get("tool"), Server: get("server"), Client: get("client"), View: get("view"),
			Approval: get("approval"), Trace: get("trace"), Outcome: get("outcome"), Since: get("since"), Until: get("until"),
		},
		Text: get("text"), Record: get("record"),
	}
}

// errSearched ends a search.
var errSearched = errors.New("the page is full, or no further record can match")

// search collects the newest records that match, for at most searchWait.
func (d *auditData) search(ctx context.Context, path string, filter *audit.Filter) error {
	bounded, cancel := context.WithTimeout(ctx, searchWait)
	defer cancel()
	text := []byte(strings.ToLower(d.form.Text))
	last, searched := filter.Before, 0
	all := &audit.Filter{Before: filter.Before}
	damaged, err := audit.ReadBack(bounded, path, all, func(r *audit.Record) error {
		last = r.Seq
		searched++
		switch {
		case !filter.Since.IsZero() && r.At.Before(filter.Since.Add(-lateRecords)):
			last = 0
			return errSearched
		case d.form.Record != "" && d.form.Record != r.ID:
			return nil
		case !filter.Matches(r) || !bytes.Contains(bytes.ToLower(r.Line()), text):
			return nil
		}
		d.Records = append(d.Records, slices.Clone(json.RawMessage(r.Line())))
		d.rows = append(d.rows, *r)
		if len(d.rows) == maxRecordsShown || d.form.Record != "" {
			return errSearched
		}
		return nil
	})
	d.Damaged = damaged
	d.live = filter.Before == 0 && searched <= maxLiveSearch
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errSearched):
		d.Next = last
	case bounded.Err() != nil && ctx.Err() == nil:
		d.Next, d.Stopped = last, true
	default:
		return err
	}
	if d.Next == 1 || len(d.rows) > 0 && d.form.Record != "" { // there is no record before the first, or a second
		d.Next = 0
	}
	return nil
}

// verifyAudit checks the chain of the whole log, as "indus audit verify" does.
func verifyAudit(v *visit) (string, error) {
	path := v.site.AuditPath
	if path == "" {
		return "", errors.New("requests are not recorded")
	}
	if !v.site.verifying.TryLock() {
		return "", errors.New("a check is under way: wait for its end")
	}
	defer v.site.verifying.Unlock()
	ctx, cancel := context.WithTimeout(v.Context(), verifyWait)
	defer cancel()
	report, err := audit.Verify(ctx, path)
	switch {
	case err != nil && ctx.Err() != nil && v.Context().Err() == nil:
		return "", errors.New("the log is too long to be checked here: indus audit verify checks it")
	case err != nil:
		return "", err
	}
	verified := describe.NewVerification(path, report)
	d := &auditData{Recorded: true, Records: []json.RawMessage{}, Verification: verified}
	v.answer = &content{d, func() gomponents.Node { return auditPage(v, d) }}
	return "", nil
}

// reportText returns the first lines of a check.
func reportText(d *describe.Verification) string {
	lines := strings.Split(strings.TrimSpace(d.Page().String()), "\n")
	if more := len(lines) - maxReportLines; more > 0 {
		lines = append(lines[:maxReportLines], show.Count(more, "more line")+": see indus audit verify")
	}
	return escapedLines(strings.Join(lines, "\n"))
}

// outcomeClass returns the class of an outcome.
func outcomeClass(o audit.Outcome) string {
	switch o {
	case audit.Allowed:
		return "good"
	case audit.Deferred:
		return "warn"
	}
	return "bad"
}

// outcomeChoices returns the choices of outcomes. The choice of every outcome has the text all.
func outcomeChoices(all string) []choice {
	return choicesOf(append([]string{""}, wordsOf(describe.Outcomes)...), all)
}

// recordText returns a record for a person.
func recordText(line json.RawMessage) string { return escapedLines(show.IndentJSON(line)) }

// detailText returns the rules and the reason of a record. The reason of a call that waits is a text for the caller,
// who has no page. The rules of a denied call are links beside it.
func detailText(r *audit.Record) string {
	shown := *r
	shown.Approval, shown.Approver = "", ""
	if r.Outcome == audit.Deferred && r.Approval != "" {
		shown.Reason = ""
	}
	if r.Outcome == audit.Denied {
		shown.Policies = nil
	}
	return show.Escaped(strings.Join(describe.Details(&shown), "; "))
}
