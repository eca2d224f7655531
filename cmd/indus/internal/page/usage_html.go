package page

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/page/chart"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/activity"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func usagePage(v *visit, u *usage) Node {
	return Group{
		Nav(Aria("label", "Period"), Ul(Class("actions"), Map(usageHours, func(hours int) Node {
			return Li(A(hrefTo(v.withQuery("hours", strconv.Itoa(hours))), If(hours == u.Hours, Aria("current", "page")),
				Text(periodText(hours))))
		}))),
		Div(ID("usage-live"), liveOn("calls"),
			If(u.Server+u.Tool != "", P(Text("Only "), Strong(Text(usageName(u.Server, u.Tool, false))), Text(". "),
				A(hrefTo("/usage?hours="+strconv.Itoa(u.Hours)), Text("All tools and servers")))),
			Div(Class("charts"), requestChart(u).View(), latencyChart(u).View()),
			Details(ID("usage-table"), Summary(Text("The charts as a table")), courseTable(u)),
			latencyTable(u, "Tools", "Tool", u.ToolLatencies),
			latencyTable(u, "Servers", "Server", u.ServerLatencies),
			H2(Text("Since the start")),
			P(Textf("%d requests, %d of them failed or denied, since ", u.Total.Requests, u.Total.Errors), clock(u.Since),
				Text(". Tokens are an estimate for the results of tools.")),
			usageTable("By tool", "Tool", u.Tools),
			usageTable("By server", "Server", u.Servers),
			usageTable("By caller", "Caller", u.Callers),
		),
		hintLine(Text("Also: "), Code(Text("indus page usage")), Text(", and for earlier days "),
			Code(Text("indus audit --top tool"))),
	}
}

// periodText returns the time of the charts.
func periodText(hours int) string {
	if hours == 1 {
		return "Last hour"
	}
	return fmt.Sprintf("Last %d hours", hours)
}

// requestChart shows how many requests came, and how many of them failed.
func requestChart(u *usage) *chart.Chart {
	bars := u.bars()
	c := &chart.Chart{
		Title: "Requests", From: bars[0].At, Slot: bars[1].At.Sub(bars[0].At), Whole: true,
		Format: shortNumber,
	}
	c.Unit = "number in " + slotText(c.Slot)
	all, failed := chart.Series{Name: "all", Class: "bar"}, chart.Series{Name: "failed or denied", Class: "fault"}
	for _, bar := range bars {
		all.Values, failed.Values = append(all.Values, float64(bar.Requests)), append(failed.Values, float64(bar.Errors))
		c.Hints = append(c.Hints, fmt.Sprintf("%s: %s, %d failed or denied", timesText(bar.At, c.Slot),
			show.Count(int(bar.Requests), "request"), bar.Errors))
	}
	c.Series = []chart.Series{all, failed}
	return c
}

// latencyChart shows how long requests took.
func latencyChart(u *usage) *chart.Chart {
	c := &chart.Chart{
		Title: "Latency", Unit: "in " + slotText(u.slot()), From: u.Course[0].From,
		Slot: u.slot(), Format: formatTick,
	}
	p50 := chart.Series{Name: "p50: half are faster", Class: "p50", IsLine: true}
	p95 := chart.Series{Name: "p95: 19 of 20 are faster", Class: "p95", IsLine: true}
	for _, l := range u.Course {
		low, high := milliseconds(l.P50), milliseconds(l.P95)
		hint := fmt.Sprintf("%s: p50 %s, p95 %s, longest %s", timesText(l.From, c.Slot), describe.Duration(l.P50),
			describe.Duration(l.P95), describe.Duration(l.Longest))
		if l.Longest == 0 {
			low, high, hint = math.NaN(), math.NaN(), timesText(l.From, c.Slot)+": no request was answered"
		}
		p50.Values, p95.Values = append(p50.Values, low), append(p95.Values, high)
		c.Hints = append(c.Hints, hint)
	}
	c.Series = []chart.Series{p95, p50}
	return c
}

// courseTable has the numbers of the charts.
func courseTable(u *usage) Node {
	rows := tableRows(u.Course, func(l *activity.Latency) []Node {
		return append([]Node{clock(l.From)}, latencyCells(l, u.slot())...)
	})
	return dataTable("", "Requests that reached a server, in "+slotText(u.slot()),
		append([]string{"From"}, latencyColumns...), rows)
}

var latencyColumns = []string{"#Requests", "#Per minute", "#Failed", "#Denied", "#p50", "#p95", "#Longest"}

// latencyCells has the cells of latencyColumns. The last slot of a course has lasted for less time than the others.
func latencyCells(l *activity.Latency, lasted time.Duration) []Node {
	lasted = min(lasted, time.Since(l.From))
	duration := func(d time.Duration) Node {
		return Iff(l.Longest > 0, func() Node { return Text(describe.Duration(d)) })
	}
	return []Node{
		countText(l.Requests), Text(perMinute(l.Requests, lasted)), faultCount(l.Failed), faultCount(l.Denied),
		duration(roundLatency(l.P50)), duration(roundLatency(l.P95)), duration(roundLatency(l.Longest)),
	}
}

// latencyTable has the latencies of tools or servers: what fails comes first, then what is slow.
func latencyTable(u *usage, title, column string, all []activity.Latency) Node {
	rows := tableRows(all, func(l *activity.Latency) []Node {
		name := Text(usageName(l.Server, l.Name, l.Other))
		if !l.Other {
			query := url.Values{"hours": {strconv.Itoa(u.Hours)}, "server": {l.Name}}
			if l.Server != "" {
				query["server"], query["tool"] = []string{l.Server}, []string{l.Name}
			}
			name = A(hrefTo("/usage?"+query.Encode()), name)
		}
		return append([]Node{name}, latencyCells(l, time.Since(l.From))...)
	})
	return Group{
		H2(Text(title)),
		dataTable("Nothing was called in the last "+u.Period+".",
			title+" of the last "+u.Period+": the most failures first, and then the slowest. p50 and p95 are within a tenth.",
			append([]string{"=" + column}, latencyColumns...), rows),
	}
}

func usageTable(title, column string, all []activity.Usage) Node {
	rows := tableRows(all, func(one *activity.Usage) []Node {
		return []Node{
			Text(usageName(one.Server, one.Name, one.Other)), countText(one.Requests), faultCount(one.Errors),
			Text(formatBytes(one.BytesIn)), Text(formatBytes(one.BytesOut)), countText(one.Tokens),
		}
	})
	return dataTable("Nothing yet.", title+": the most requests first",
		[]string{"=" + column, "#Requests", "#Failed or denied", "#In", "#Out", "#Tokens"}, rows)
}

func countText(n int64) Node { return Text(strconv.FormatInt(n, 10)) }

// faultCount is a number of failures, which is marked if there are some.
func faultCount(n int64) Node {
	if n == 0 {
		return Text("0")
	}
	return Span(Class("bad"), countText(n))
}
