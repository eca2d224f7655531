// Package chart draws values over time as SVG, which the content security policy of the page permits. Begin with
// [Chart.View]. It does no I/O, and a chart may be used by one goroutine at a time.
package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"
)

// Chart is a picture of values over time, with axes, units and a legend. Each slot of time has a text for a pointer.
type Chart struct {
	Title  string
	Unit   string // of the vertical axis
	Format func(float64) string
	Whole  bool // values are whole numbers
	From   time.Time
	Slot   time.Duration
	Hints  []string // a text for each slot
	Series []Series
}

// Series is one kind of values of a chart, one for each slot. A value that is NaN is missing.
type Series struct {
	Name, Class string
	IsLine      bool
	Values      []float64
}

// These are the lengths in a chart. The browser scales the picture.
const (
	plotWidth, plotHeight = 400.0, 190.0
	plotLeft, plotRight   = 46.0, 392.0
	plotTop, plotBottom   = 12.0, 160.0
	axisSteps             = 4 // of each axis, at most
)

// stepTo returns the distance of the lines of a vertical axis that ends at the highest value or above: 1, 2 or 5 with
// zeros.
func stepTo(highest float64, whole bool) float64 {
	least := highest / axisSteps
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
func (c *Chart) top() (step, top float64) {
	highest := 0.0
	for _, s := range c.Series {
		for _, value := range s.Values {
			if !math.IsNaN(value) {
				highest = max(highest, value)
			}
		}
	}
	step = stepTo(highest, c.Whole)
	return step, max(step, step*math.Ceil(highest/step-1e-9))
}

func (c *Chart) x(slot float64) float64 {
	return plotLeft + (plotRight-plotLeft)*slot/float64(len(c.Hints))
}

// View returns a chart with its title and its legend.
func (c *Chart) View() Node {
	step, top := c.top()
	y := func(value float64) float64 { return plotBottom - (plotBottom-plotTop)*value/top }
	picture := Group{}
	for value := 0.0; value <= top+step/2; value += step {
		picture = append(picture, drawnLine("grid", plotLeft, y(value), plotRight, y(value)),
			drawnText("end", plotLeft-5, y(value)+4, c.Format(value)))
	}
	slots := len(c.Hints)
	for i := 0; i <= slots; i += max(1, slots/axisSteps) {
		anchor, text := "middle", c.From.Add(time.Duration(i)*c.Slot).Local().Format("15:04")
		if i == slots {
			anchor, text = "end", "now"
		}
		picture = append(picture, drawnLine("axis", c.x(float64(i)), plotBottom, c.x(float64(i)), plotBottom+4),
			drawnText(anchor, c.x(float64(i)), plotBottom+18, text))
	}
	for _, s := range c.Series {
		picture = append(picture, c.draw(&s, y))
	}
	for i, hint := range c.Hints {
		picture = append(picture, El("rect", Class("hit"), lengthOf("x", c.x(float64(i))), lengthOf("y", plotTop),
			lengthOf("width", c.x(1)-c.x(0)), lengthOf("height", plotBottom-plotTop), El("title", Text(hint))))
	}
	return Figure(Class("chart"),
		FigCaption(Strong(Text(c.Title)), Text(", "+c.Unit),
			Ul(Class("legend"), Map(c.Series, func(s Series) Node {
				return Li(SVG(Attr("viewBox", "0 0 12 12"), Aria("hidden", "true"), legendSample(&s)), Text(s.Name))
			}))),
		SVG(Class("plot"), Attr("viewBox", fmt.Sprintf("0 0 %g %g", plotWidth, plotHeight)), Role("img"),
			Aria("label", c.Title+", "+c.Unit+": the numbers are in the table below"), picture))
}

// draw returns the bars or the line of a series.
func (c *Chart) draw(s *Series, y func(float64) float64) Node {
	if !s.IsLine {
		bars := Group{}
		for i, value := range s.Values {
			if value > 0 {
				wide := (c.x(1) - c.x(0)) * 0.8
				bars = append(bars, El("rect", Class(s.Class), lengthOf("x", c.x(float64(i))+wide/8), lengthOf("y", y(value)),
					lengthOf("width", wide), lengthOf("height", plotBottom-y(value))))
			}
		}
		return bars
	}
	var points []string
	parts := Group{}
	for i, value := range s.Values {
		if math.IsNaN(value) {
			continue
		}
		x := c.x(float64(i) + 0.5)
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, y(value)))
		parts = append(parts, El("circle", Class(s.Class), lengthOf("cx", x), lengthOf("cy", y(value)), Attr("r", "2.2")))
	}
	return append(parts, El("polyline", Class("stroke "+s.Class), Attr("points", strings.Join(points, " "))))
}

// legendSample is the sign of a series in the legend.
func legendSample(s *Series) Node {
	if s.IsLine {
		dot := El("circle", Class(s.Class), Attr("cx", "6"), Attr("cy", "6"), Attr("r", "3"))
		return Group{drawnLine("stroke "+s.Class, 0, 6, 12, 6), dot}
	}
	return El("rect", Class(s.Class), Attr("width", "12"), Attr("height", "12"))
}

func drawnLine(class string, x1, y1, x2, y2 float64) Node {
	return El("line", Class(class), lengthOf("x1", x1), lengthOf("y1", y1), lengthOf("x2", x2), lengthOf("y2", y2))
}

func drawnText(anchor string, x, y float64, text string) Node {
	return El("text", Attr("text-anchor", anchor), lengthOf("x", x), lengthOf("y", y), Text(text))
}

func lengthOf(name string, value float64) Node {
	return Attr(name, strconv.FormatFloat(value, 'f', 1, 64))
}
