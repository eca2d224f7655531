package audit

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/audit"
)

// topKeys maps the keys of --top to their value in a record.
var topKeys = map[string]func(*audit.Record) string{
	"tool":      describe.Target,
	"principal": func(r *audit.Record) string { return r.Principal },
	"server":    func(r *audit.Record) string { return r.Server },
	"client":    func(r *audit.Record) string { return r.Client },
	"view":      func(r *audit.Record) string { return cmp.Or(r.View, "*") },
	"method":    func(r *audit.Record) string { return r.Method },
	"outcome":   func(r *audit.Record) string { return string(r.Outcome) },
	"error":     func(r *audit.Record) string { return r.ErrorKind },
}

// topRow counts the records of one value, in the output of --top --json. Durations are of requests that reached a
// server.
type topRow struct {
	Key      string `json:"key"`
	Count    int    `json:"count"`
	Errors   int    `json:"errors"`
	Denied   int    `json:"denied"`
	BytesIn  int64  `json:"bytesIn"`
	BytesOut int64  `json:"bytesOut"`
	P50      int64  `json:"p50Microseconds"`
	P95      int64  `json:"p95Microseconds"`

	durations []time.Duration
}

// add counts a record.
func (t *topRow) add(r *audit.Record) {
	t.Count++
	t.BytesIn += r.BytesIn
	t.BytesOut += r.BytesOut
	switch r.Outcome {
	case audit.Denied:
		t.Denied++
		return
	case audit.Deferred:
		return
	case audit.Error:
		t.Errors++
	}
	t.durations = append(t.durations, r.Duration)
}

// finish computes the percentiles.
func (t *topRow) finish() {
	if len(t.durations) == 0 {
		return
	}
	slices.Sort(t.durations)
	at := func(percent int) int64 {
		rank := (len(t.durations)*percent + 99) / 100 // nearest rank
		return t.durations[max(0, rank-1)].Microseconds()
	}
	t.P50, t.P95 = at(50), at(95)
}

// topRows counts the records of a log by key, the most frequent value first.
func (f *listFlags) topRows(ctx context.Context, path string, s show.Streams) ([]*topRow, error) {
	rows := map[string]*topRow{}
	key := topKeys[f.top]
	damaged, err := audit.Read(ctx, path, &f.filter, func(r *audit.Record) error {
		value := key(r)
		if value == "" || !strings.HasPrefix(r.Type, "mcp.") {
			return nil
		}
		row := rows[value]
		if row == nil {
			row = &topRow{Key: value}
			rows[value] = row
		}
		row.add(r)
		return nil
	})
	reportDamaged(damaged, s)
	var sorted []*topRow
	for _, row := range rows {
		row.finish()
		sorted = append(sorted, row)
	}
	slices.SortFunc(sorted, func(a, b *topRow) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Key, b.Key))
	})
	return sorted, err
}

func (f *listFlags) printTop(ctx context.Context, path string, s show.Streams) error {
	rows, err := f.topRows(ctx, path, s)
	if err != nil {
		return err
	}
	if left := len(rows) - f.limit; f.limit > 0 && left > 0 {
		rows = rows[:f.limit]
		if !f.asJSON {
			s.Reportf("%s after these; -n 0 shows all", show.Count(left, "row"))
		}
	}
	if f.asJSON {
		return show.PrintLines(s, rows, func(r *topRow) any { return r })
	}
	t := &show.Table{Spare: []string{"BYTES IN", "BYTES OUT", "P50"}}
	t.Add(strings.ToUpper(f.top), "COUNT", "ERRORS", "DENIED", "BYTES IN", "BYTES OUT", "P50", "P95")
	for _, r := range rows {
		t.Add(r.Key, strconv.Itoa(r.Count), strconv.Itoa(r.Errors), strconv.Itoa(r.Denied),
			strconv.FormatInt(r.BytesIn, 10), strconv.FormatInt(r.BytesOut, 10),
			r.time(r.P50), r.time(r.P95))
	}
	return s.PrintTable(t, "no record has a %s", f.top)
}

// time returns a percentile for a person: "-" if no request ran.
func (t *topRow) time(microseconds int64) string {
	if len(t.durations) == 0 {
		return "-"
	}
	return describe.Duration(time.Duration(microseconds) * time.Microsecond)
}
