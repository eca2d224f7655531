package page

import (
	"fmt"
	"strconv"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/gateway/activity"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

func usagePage(u usage) Node {
	return Group{
		hintLine(Text("Also: "), Code(Text("indus page usage")), Text(", and for earlier days "),
			Code(Text("indus audit --top tool"))),
		Div(ID("usage-live"), liveOn("calls"),
			P(Textf("%d requests, %d of them failed or denied, since ", u.Total.Requests, u.Total.Errors), clock(u.Since)),
			H2(Text("Requests over time")),
			Nav(Aria("label", "Period of the plot"), Ul(Class("actions"), Map(usageHours, func(hours int) Node {
				return Li(A(hrefTo("/usage?hours="+strconv.Itoa(hours)), If(hours == u.Hours, Aria("current", "page")),
					Text(strconv.Itoa(hours)+" h")))
			}))),
			usagePlot(u.Plot),
			P(Class("soft"), Text(plotText(u.Plot))),
			Details(ID("usage-table"), Summary(Text("The plot as a table")), plotTable(u.Plot)),
			usageTable("By tool", "Tool", u.Tools),
			usageTable("By server", "Server", u.Servers),
			usageTable("By caller", "Caller", u.Callers),
		),
	}
}

func usagePlot(bars []usageBar) Node {
	plot := Group{}
	for i, bar := range bars {
		plot = append(plot, plotBar("bar", i, bars, bar.Requests),
			Iff(bar.Errors > 0, func() Node { return plotBar("fault", i, bars, bar.Errors) }))
	}
	return SVG(Class("plot"), Attr("viewBox", "0 0 600 120"), Attr("preserveAspectRatio", "none"), Role("img"),
		Aria("label", plotText(bars)), plot,
		El("line", Class("axis"), Attr("x1", "0"), Attr("y1", "120"), Attr("x2", "600"), Attr("y2", "120")))
}

func plotTable(bars []usageBar) Node {
	busy := show.Where(bars, func(bar usageBar) bool { return bar.Requests > 0 })
	rows := tableRows(busy, func(bar *usageBar) []Node {
		return []Node{clock(bar.At), countText(bar.Requests), countText(bar.Errors)}
	})
	return dataTable("Nothing yet.", "Requests over time", []string{"From", "#Requests", "#Failed or denied"}, rows)
}

func usageTable(title, column string, all []activity.Usage) Node {
	rows := tableRows(all, func(one *activity.Usage) []Node {
		return []Node{
			Text(usageName(one)), countText(one.Requests), countText(one.Errors), Text(formatBytes(one.BytesIn)),
			Text(formatBytes(one.BytesOut)), countText(one.Tokens),
		}
	})
	return Group{
		H2(Text(title)),
		dataTable("Nothing yet.", title+": the most requests first. Tokens are an estimate for the results of tools.",
			[]string{"=" + column, "#Requests", "#Failed or denied", "#In", "#Out", "#Tokens"}, rows),
	}
}

func countText(n int64) Node { return Text(strconv.FormatInt(n, 10)) }

// plotBar is bar i of a plot.
func plotBar(class string, i int, all []usageBar, n int64) Node {
	height := barHeight(all, n)
	return El("rect", Class(class), Attr("x", strconv.Itoa(i*10)), Attr("width", "8"),
		Attr("y", fmt.Sprintf("%.1f", 120-height)), Attr("height", fmt.Sprintf("%.1f", height)))
}
