package page

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/activity"
	"maragu.dev/gomponents"
)

// usageSection is the section at "/usage".
var usageSection = section{
	path: "usage", title: "Usage", fields: "hours server tool", data: readUsage,
}

// usageHours are the periods of the charts.
var usageHours = []int{1, 6, 24}

// plotBars is the number of bars of the plot.
const plotBars = 60

// usage is the content of the section.
type usage struct {
	Since   time.Time        `json:"since"`
	Tools   []activity.Usage `json:"tools"`
	Servers []activity.Usage `json:"servers"`
	Callers []activity.Usage `json:"callers"`
	Hours   int              `json:"hours"` // of the plot and the course
	Plot    []usageBar       `json:"plot"`
	Total   activity.Usage   `json:"total"`
	// Period is the time of the latencies: "hour", or "day" if Hours is more. The tools and servers that fail most come
	// first, and then the slowest.
	Period          string             `json:"period"`
	ToolLatencies   []activity.Latency `json:"toolLatencies"`
	ServerLatencies []activity.Latency `json:"serverLatencies"`
	// Course has the latencies over time, of Server and Tool only if they are set.
	Course []activity.Latency `json:"course"`
	Server string             `json:"server,omitempty"`
	Tool   string             `json:"tool,omitempty"`
}

// usageBar is one bar of the plot, from At on.
type usageBar struct {
	At time.Time `json:"at"`
	activity.Usage
}

func readUsage(v *visit) (*content, error) {
	a, query := v.site.Control.Activity, v.URL.Query()
	u := usage{Hours: usageHours[0], Period: "hour", Server: query.Get("server"), Tool: query.Get("tool")}
	if n, err := strconv.Atoi(query.Get("hours")); err == nil && slices.Contains(usageHours, n) {
		u.Hours = n
	}
	callers, since := a.Usage(activity.OfCallers)
	u.Since, u.Total.Name = since, "total"
	for i := range callers {
		addUsage(&u.Total, &callers[i])
		if !callers[i].Other {
			callers[i].Name = show.Clean(describe.Caller(callers[i].Name))
		}
	}
	tools, _ := a.Usage(activity.OfTools)
	servers, _ := a.Usage(activity.OfServers)
	u.Tools, u.Servers, u.Callers = firstRows(tools), firstRows(servers), firstRows(callers)
	u.addLatencies(a)
	minutes := a.Minutes(u.Hours * 60)
	at := time.Now().Truncate(time.Minute).Add(-time.Duration(len(minutes)-1) * time.Minute)
	for chunk := range slices.Chunk(minutes, len(minutes)/plotBars) {
		bar := usageBar{At: at}
		for i := range chunk {
			addUsage(&bar.Usage, &chunk[i])
		}
		u.Plot = append(u.Plot, bar)
		at = at.Add(time.Duration(len(chunk)) * time.Minute)
	}
	return &content{u, func() gomponents.Node { return usagePage(v, &u) }}, nil
}

// addLatencies adds the latencies of the period.
func (u *usage) addLatencies(a *activity.Tracker) {
	period := activity.Hour
	if u.Hours > 1 {
		period, u.Period = activity.Day, "day"
	}
	kind, server, name := activity.OfServers, "", u.Server
	if u.Tool != "" {
		kind, server, name = activity.OfTools, u.Server, u.Tool
	}
	u.Course = a.Course(kind, server, name, period)
	if period == activity.Day {
		u.Course = u.Course[len(u.Course)-u.Hours:]
	}
	u.ToolLatencies = a.Latencies(activity.OfTools, period)
	u.ServerLatencies = a.Latencies(activity.OfServers, period)
	u.ToolLatencies = u.ToolLatencies[:min(len(u.ToolLatencies), maxRows)]
	u.ServerLatencies = u.ServerLatencies[:min(len(u.ServerLatencies), maxRows)]
}

// slot returns the length of a slot of the course.
func (u *usage) slot() time.Duration { return u.Course[1].From.Sub(u.Course[0].From) }

// bars returns the bars of the chart of requests: those of the plot, or of the selected tool or server.
func (u *usage) bars() []usageBar {
	if u.Server+u.Tool == "" {
		return u.Plot
	}
	var all []usageBar
	for _, l := range u.Course {
		all = append(all, usageBar{At: l.From, Usage: activity.Usage{Requests: l.Requests, Errors: l.Failed + l.Denied}})
	}
	return all
}

// firstRows returns the sums for a table.
func firstRows(all []activity.Usage) []activity.Usage {
	rows := append([]activity.Usage{}, all[:min(len(all), maxRows)]...) // not nil, for JSON
	for i := range rows {
		rows[i].Name = show.Clean(rows[i].Name)
	}
	return rows
}

func addUsage(sum, more *activity.Usage) {
	sum.Requests += more.Requests
	sum.Errors += more.Errors
	sum.BytesIn += more.BytesIn
	sum.BytesOut += more.BytesOut
	sum.Tokens += more.Tokens
}

// usageName returns the key of a sum for people.
func usageName(server, name string, isOther bool) string {
	switch {
	case isOther:
		return "others"
	case server != "":
		return server + " " + show.Clean(name)
	}
	return cmp.Or(show.Clean(name), "-")
}

// perMinute returns the rate of requests in a time.
func perMinute(requests int64, lasted time.Duration) string {
	rate := float64(requests) / max(lasted.Minutes(), 1)
	switch {
	case requests == 0:
		return "0"
	case rate < 0.1:
		return "< 0.1"
	case rate < 10:
		return strconv.FormatFloat(rate, 'f', 1, 64)
	}
	return strconv.FormatFloat(rate, 'f', 0, 64)
}
