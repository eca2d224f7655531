package activity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/testkit/fixture"
)

// hostileRecord is the record of a call whose texts are long and new each time.
func hostileRecord(i int) *audit.Record {
	long := fmt.Sprint(i, " \x1b]0;\u202e", strings.Repeat("x", 100_000))
	return &audit.Record{
		At: time.Now(), Principal: long, Type: long, Tool: long, Outcome: audit.Error, Target: long, Server: "s", View: long,
		Client: long, ClientVersion: long, Era: "modern", Method: protocol.MethodToolsCall, Session: long, Address: long,
		Policies: []string{long}, Approver: long, BytesIn: 2, BytesOut: 8, Trace: long, Reason: long,
		Arguments: []byte(long), Result: []byte(long),
	}
}

// The memory of an activity does not depend on what clients and servers send, and no request is missing in the sums.
func TestAnActivityIsBoundedByItself(t *testing.T) {
	t.Parallel()
	all := int64(fixture.Size(t, 1500, 5000))
	a := New()
	for i := range int(all) {
		a.Record(hostileRecord(i), false)
	}
	if n := len(a.Recent()); n != keptRequests || len(a.recent.kept) != keptRequests {
		t.Error(n, "requests are kept")
	}
	var bytes int
	for _, r := range a.Recent() {
		bytes += len(fmt.Sprintf("%+v", r))
	}
	if bytes > keptRequests*8<<10 {
		t.Error(bytes, "bytes are kept")
	}
	for _, kind := range []Kind{OfTools, OfServers, OfCallers} {
		sums, _ := a.Usage(kind)
		want := maxUsageKeys + 1
		if kind == OfServers {
			want = 1
		}
		var sum Usage
		for _, u := range sums {
			sum.Requests += u.Requests
			sum.Errors += u.Errors
			sum.Tokens += u.Tokens
			if len(u.Name) > 2*maxKeptText {
				t.Fatal(len(u.Name))
			}
		}
		if len(sums) != want || sum.Requests != all || sum.Errors != all || sum.Tokens != 2*all {
			t.Errorf("%s: %d sums, in all %+v", kind, len(sums), sum)
		}
		if last := sums[0]; want > 1 && (!last.Other || last.Name != "" || last.Requests != all-maxUsageKeys) {
			t.Errorf("%s: %+v", kind, last)
		}
	}
}

// A request counts in the minute of its end. One that lasts longer than a day drops no later minute.
func TestMinutesOfLongRequests(t *testing.T) {
	t.Parallel()
	a := New()
	now := time.Now()
	for _, lasted := range []time.Duration{0, time.Hour, 25 * time.Hour, 24 * time.Hour} {
		a.Record(&audit.Record{At: now.Add(-lasted), Duration: lasted}, false)
	}
	var sum int64
	for _, m := range a.Minutes(2) { // the minute may end meanwhile
		sum += m.Requests
	}
	if sum != 4 {
		t.Error(sum, "requests")
	}
	if n := len(a.Minutes(1 << 30)); n != keptMinutes {
		t.Error(n, "minutes")
	}
}

// The last calls of a server are kept in their order.
func TestDurationsAreInOrder(t *testing.T) {
	t.Parallel()
	a := New()
	for n := range 3 * keptDurations / 2 {
		a.Record(&audit.Record{
			At: time.Now(), Server: "s", Outcome: audit.Allowed, Method: protocol.MethodToolsCall, Duration: time.Duration(n),
		}, false)
	}
	all := a.Durations("s")
	if len(all) != keptDurations || all[0] != keptDurations/2 || all[keptDurations-1] != 3*keptDurations/2-1 {
		t.Error(all)
	}
}

// oneRecord is a request in flight with one record.
type oneRecord audit.Record

func (r *oneRecord) Records() []audit.Record { return []audit.Record{audit.Record(*r)} }

// BenchmarkActivity is the cost of one call, without the rest of the gateway.
func BenchmarkActivity(b *testing.B) {
	a := New()
	r := &audit.Record{
		At: time.Now(), Server: "s", Tool: "t", Method: protocol.MethodToolsCall, Outcome: audit.Allowed,
	}
	for range 2 * keptRequests {
		a.Record(r, false)
	}
	b.Run("record", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			a.Record(r, false)
		}
	})
	b.Run("begin and end", func(b *testing.B) {
		b.ReportAllocs()
		var running Request
		for b.Loop() {
			ctx := a.Begin(b.Context(), &running, (*oneRecord)(r))
			_ = ctx.Done()
			_ = running.End()
		}
	})
}
