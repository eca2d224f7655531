package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

// chart is a picture of values over time, with axes, units and a legend. Each slot of time has a text for a pointer.
type chart struct {
	title  string
	unit   string // of the vertical axis
	format func(float64) string
	whole  bool // values are whole numbers
	from   time.Time
	slot   time.Duration
	hints  []string // a text for each slot
	series []series
}

// series is one kind of values of a chart, one for each slot. A value that is NaN is missing.
type series struct {
	name, class string
	isLine      bool
	values      []float64
}

// These are the lengths in a chart. The browser scales the picture.
const (
	chartWidth, chartHeight = 400.0, 190.0
	chartLeft, chartRight   = 46.0, 392.0
	chartTop, chartBottom   = 12.0, 160.0
	chartSteps              = 4 // of each axis, at most
)

// chartStep returns the distance of the lines of a vertical axis that ends at the highest value or above: 1, 2 or 5 with
// zeros.
func chartStep(highest float64, whole bool) float64 {
	least := highest / chartSteps
	if whole {
		least = max(least, 1)
	}
	if least <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= least*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

// top returns the step and the end of the vertical axis.
func (c *chart) top() (step, top float64) {
	highest := 0.0
	for _, s := range c.series {
		for _, value := range s.values {
			if !math.IsNaN(value) {
				highest = max(highest, value)
			}
		}
	}
	step = chartStep(highest, c.whole)
	return step, max(step, step*math.Ceil(highest/step-1e-9))
}

func (c *chart) x(slot float64) float64 {
	return chartLeft + (chartRight-chartLeft)*slot/float64(len(c.hints))
}

// chartView is a chart with its title and its legend.
func chartView(c *chart) Node {
	step, top := c.top()
	y := func(value float64) float64 { return chartBottom - (chartBottom-chartTop)*value/top }
	picture := Group{}
	for value := 0.0; value <= top+step/2; value += step {
		picture = append(picture, chartLine("grid", chartLeft, y(value), chartRight, y(value)),
			chartText("end", chartLeft-5, y(value)+4, c.format(value)))
	}
	slots := len(c.hints)
	for i := 0; i <= slots; i += max(1, slots/chartSteps) {
		anchor, text := "middle", c.from.Add(time.Duration(i)*c.slot).Local().Format("15:04")
		if i == slots {
			anchor, text = "end", "now"
		}
		picture = append(picture, chartLine("axis", c.x(float64(i)), chartBottom, c.x(float64(i)), chartBottom+4),
			chartText(anchor, c.x(float64(i)), chartBottom+18, text))
	}
	for _, s := range c.series {
		picture = append(picture, c.draw(&s, y))
	}
	for i, hint := range c.hints {
		picture = append(picture, El("rect", Class("hit"), length("x", c.x(float64(i))), length("y", chartTop),
			length("width", c.x(1)-c.x(0)), length("height", chartBottom-chartTop), El("title", Text(hint))))
	}
	return Figure(Class("chart"),
		FigCaption(Strong(Text(c.title)), Text(", "+c.unit),
			Ul(Class("legend"), Map(c.series, func(s series) Node {
				return Li(SVG(Attr("viewBox", "0 0 12 12"), Aria("hidden", "true"), chartSample(&s)), Text(s.name))
			}))),
		SVG(Class("plot"), Attr("viewBox", fmt.Sprintf("0 0 %g %g", chartWidth, chartHeight)), Role("img"),
			Aria("label", c.title+", "+c.unit+": the numbers are in the table below"), picture))
}

// draw returns the bars or the line of a series.
func (c *chart) draw(s *series, y func(float64) float64) Node {
	if !s.isLine {
		bars := Group{}
		for i, value := range s.values {
			if value > 0 {
				width := (c.x(1) - c.x(0)) * 0.8
				bars = append(bars, El("rect", Class(s.class), length("x", c.x(float64(i))+width/8), length("y", y(value)),
					length("width", width), length("height", chartBottom-y(value))))
			}
		}
		return bars
	}
	var points []string
	parts := Group{}
	for i, value := range s.values {
		if math.IsNaN(value) {
			continue
		}
		x := c.x(float64(i) + 0.5)
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, y(value)))
		parts = append(parts, El("circle", Class(s.class), length("cx", x), length("cy", y(value)), Attr("r", "2.2")))
	}
	return append(parts, El("polyline", Class("stroke "+s.class), Attr("points", strings.Join(points, " "))))
}

// chartSample is the sign of a series in the legend.
func chartSample(s *series) Node {
	if s.isLine {
		return Group{chartLine("stroke "+s.class, 0, 6, 12, 6), El("circle", Class(s.class), Attr("cx", "6"), Attr("cy", "6"), Attr("r", "3"))}
	}
	return El("rect", Class(s.class), Attr("width", "12"), Attr("height", "12"))
}

func chartLine(class string, x1, y1, x2, y2 float64) Node {
	return El("line", Class(class), length("x1", x1), length("y1", y1), length("x2", x2), length("y2", y2))
}

func chartText(anchor string, x, y float64, text string) Node {
	return El("text", Attr("text-anchor", anchor), length("x", x), length("y", y), Text(text))
}

func length(name string, value float64) Node {
	return Attr(name, strconv.FormatFloat(value, 'f', 1, 64))
}
