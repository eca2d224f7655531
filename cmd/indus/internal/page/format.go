package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// formatMS returns a duration for people.
func formatMS(ms float64) string {
	return show.Duration(time.Duration(ms * float64(time.Millisecond)))
}

// clockText returns a time for people, without the date if it is the day of now.
func clockText(t, now time.Time) string {
	if show.Time(t)[:len(time.DateOnly)] == now.Local().Format(time.DateOnly) {
		return t.Local().Format(time.TimeOnly)
	}
	return show.Time(t)
}

// counted returns a number with its words as a sentence.
func counted(n int, none, one, many string) string {
	switch n {
	case 0:
		return none
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// formatBytes returns a number of bytes for people.
func formatBytes(n int64) string {
	switch {
	case n < 10_000:
		return strconv.FormatInt(n, 10) + " B"
	case n < 10_000_000:
		return strconv.FormatInt(n/1000, 10) + " kB"
	}
	return strconv.FormatInt(n/1_000_000, 10) + " MB"
}

// tokenCount returns the estimated tokens of a result, or "" for a request that is no call of a tool.
func tokenCount(row callRow) string {
	if row.Method != "tools/call" {
		return ""
	}
	return strconv.FormatInt(row.Tokens, 10)
}

// phaseText returns the state of a server for people.
func phaseText(row serverRow) string {
	switch {
	case row.Replica != "":
		return row.Phase + ", runs at the replica " + row.Replica
	case row.Phase != "":
		return row.Phase
	}
	return row.State
}

func phaseClass(row serverRow) string {
	switch row.Phase {
	case "ready":
		return "good"
	case "faulted":
		return "bad"
	}
	return "warn"
}

// sparkText describes how long calls took.
func sparkText(ms []float64) string {
	sorted := slices.Sorted(slices.Values(ms))
	return fmt.Sprintf("%s, median %s, longest %s", show.Count(len(ms), "call"), formatMS(sorted[len(sorted)/2]),
		formatMS(sorted[len(sorted)-1]))
}

// sparkPoints returns the points of a line in an area of 120 by 24.
func sparkPoints(ms []float64) string {
	longest := max(slices.Max(ms), 0.001)
	var out []string
	for i, one := range ms {
		x := 120 * float64(i) / float64(max(len(ms)-1, 1))
		out = append(out, fmt.Sprintf("%.1f,%.1f", x, 23-22*one/longest))
	}
	return strings.Join(out, " ")
}

// slotText returns the length of a slot of a chart.
func slotText(d time.Duration) string {
	switch {
	case d == time.Hour:
		return "an hour"
	case d > time.Hour:
		return show.Count(int(d/time.Hour), "hour")
	case d == time.Minute:
		return "a minute"
	}
	return show.Count(int(d/time.Minute), "minute")
}

// timesText returns a slot of a chart, with the date if it is not today.
func timesText(from time.Time, length time.Duration) string {
	isToday := from.Local().YearDay() == time.Now().YearDay()
	format := map[bool]string{true: "15:04", false: "2006-01-02 15:04"}[isToday]
	return from.Local().Format(format) + " to " + from.Add(length).Local().Format(format)
}

// roundLatency returns a duration with two digits: its error is a tenth.
func roundLatency(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 100 {
		unit *= 10
	}
	return d.Round(unit)
}

// formatTick returns milliseconds for an axis.
func formatTick(ms float64) string {
	if ms >= 1000 {
		return strconv.FormatFloat(ms/1000, 'g', 3, 64) + " s"
	}
	return strconv.FormatFloat(ms, 'g', 3, 64) + " ms"
}

// shortNumber returns a number for an axis.
func shortNumber(n float64) string {
	switch {
	case n >= 1e6:
		return strconv.FormatFloat(n/1e6, 'g', 3, 64) + " M"
	case n >= 1e4:
		return strconv.FormatFloat(n/1e3, 'g', 3, 64) + " k"
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}
