package page

import (
	"slices"
	"strconv"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/gateway/activity"
	"maragu.dev/gomponents"
)

// usageSection is the section at "/usage".
var usageSection = section{
	path: "usage", title: "Usage", fields: "hours", data: readUsage,
}

// usageHours are the periods of the plot.
var usageHours = []int{1, 6, 24}

// plotBars is the number of bars of the plot.
const plotBars = 60

// usage is the content of the section.
type usage struct {
	Since   time.Time        `json:"since"`
	Tools   []activity.Usage `json:"tools"`
	Servers []activity.Usage `json:"servers"`
	Callers []activity.Usage `json:"callers"`
	Hours   int              `json:"hours"` // of the plot
	Plot    []usageBar       `json:"plot"`
	Total   activity.Usage   `json:"total"`
}

// usageBar is one bar of the plot, from At on.
type usageBar struct {
	At time.Time `json:"at"`
	activity.Usage
}

func readUsage(v *visit) (*content, error) {
	a := v.site.Control.Activity
	u := usage{Hours: usageHours[0]}
	if n, err := strconv.Atoi(v.URL.Query().Get("hours")); err == nil && slices.Contains(usageHours, n) {
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
	return &content{u, func() gomponents.Node { return usagePage(u) }}, nil
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
func usageName(u *activity.Usage) string {
	switch {
	case u.Other:
		return "others"
	case u.Server != "":
		return u.Server + " " + u.Name
	}
	return u.Name
}
