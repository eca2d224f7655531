package page

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/activity"
	"github.com/indusagi/indus/control/audit"
	"maragu.dev/gomponents"
)

// callsSection is the section at "/calls".
var callsSection = section{
	path: "calls", title: "Calls", fields: "q outcome", data: readCalls,
	actions: map[string]func(*visit) (string, error){"cancel": cancelCall},
}

// callList is the content of the section.
type callList struct {
	InFlight []callRow `json:"inFlight"`
	Now      int       `json:"now"`    // requests in flight before the filter
	Recent   []callRow `json:"recent"` // the newest first
	Kept     int       `json:"kept"`   // requests before the filter
	Filter   string    `json:"filter,omitempty"`
	Outcome  string    `json:"outcome,omitempty"`
}

// callRow is a request, or a call of a request that runs several. Rows of one request have the same ID.
type callRow struct {
	ID         uint64        `json:"id,omitempty"` // in flight only
	At         time.Time     `json:"at"`
	Caller     string        `json:"caller"`
	Client     string        `json:"client,omitempty"`
	View       string        `json:"view,omitempty"`
	Server     string        `json:"server,omitempty"`
	Name       string        `json:"name,omitempty"` // of the tool, prompt or resource
	Method     string        `json:"method"`
	Era        string        `json:"era"`
	Outcome    audit.Outcome `json:"outcome,omitempty"`
	Reason     string        `json:"reason,omitempty"`
	Rules      []string      `json:"rules,omitempty"` // of a denied request: the first rules that decided
	Approval   string        `json:"approval,omitempty"`
	Record     string        `json:"record,omitempty"` // the ID of the record in the audit
	Trace      string        `json:"trace,omitempty"`
	DurationMS float64       `json:"durationMs"`
	BytesIn    int64         `json:"bytesIn"`
	BytesOut   int64         `json:"bytesOut"`
	Tokens     int64         `json:"tokens"` // an estimate for the result of a tool

	further bool // the row above has the same request
}

// readCalls returns the requests that the queries "q" and "outcome" select.
func readCalls(v *visit) (*content, error) {
	query, tracker := v.URL.Query(), v.site.Control.Activity
	l := callList{
		InFlight: []callRow{}, Recent: []callRow{}, Filter: query.Get("q"), Outcome: query.Get("outcome"),
	}
	for _, r := range tracker.InFlight() {
		l.Now++
		row := callRowOf(&r)
		row.ID, row.DurationMS = r.Seq, milliseconds(time.Since(r.At))
		if n := len(l.InFlight); n < maxRows && l.selects(&row) {
			row.further = n > 0 && l.InFlight[n-1].ID == row.ID
			l.InFlight = append(l.InFlight, row)
		}
	}
	for _, r := range tracker.Recent() {
		l.Kept++
		row := callRowOf(&r)
		if len(l.Recent) < maxRows && l.selects(&row) && (l.Outcome == "" || l.Outcome == string(row.Outcome)) {
			l.Recent = append(l.Recent, row)
		}
	}
	return &content{l, func() gomponents.Node { return callsPage(v, l) }}, nil
}

func (l *callList) selects(row *callRow) bool {
	return matches(l.Filter, row.Caller, row.Client, row.Server, row.Name, row.Method, row.View, row.Approval, row.Record,
		row.Trace)
}

func callRowOf(r *audit.Record) callRow {
	return callRow{
		At: r.At, Caller: show.Clean(describe.Caller(r.Principal)), Client: show.Clean(r.Client + " " + r.ClientVersion),
		View: r.View, Server: r.Server, Name: show.Clean(cmp.Or(r.Tool, r.Target)), Method: show.Clean(r.Method), Era: r.Era,
		Outcome: r.Outcome, Reason: show.Clean(r.Reason), Rules: r.Policies,
		Approval: r.Approval, Record: r.ID, Trace: r.Trace,
		DurationMS: milliseconds(r.Duration), BytesIn: r.BytesIn, BytesOut: r.BytesOut, Tokens: activity.Tokens(r),
	}
}

// callColumns returns the columns of a table of requests, which are in flight or ended.
func callColumns(inFlight bool) []string {
	columns := []string{"Time", "Caller", "Request", "#Duration", "#Bytes in, out"}
	if inFlight {
		return append(columns, "Actions")
	}
	return append(columns, "#Tokens", "Outcome")
}

func cancelCall(v *visit) (string, error) {
	id, err := strconv.ParseUint(v.PostForm.Get("id"), 10, 64)
	if err != nil || !v.site.Control.Activity.Cancel(id) {
		return "", errors.New("this request is not in flight any more")
	}
	return "the request is cancelled", nil
}
