package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The text between these lines of the document is replaced.
const (
	beginMark = "<!-- made by \"make compare\": begin -->\n"
	endMark   = "<!-- end -->\n"
)

func (r *run) write(doc string) error {
	before, err := os.ReadFile(doc)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(before, []byte(beginMark))
	_, tail, ok2 := bytes.Cut(rest, []byte(endMark))
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks the lines between which the tables stand", doc)
	}
	after := string(head) + beginMark + r.tables() + endMark + string(tail)
	if err := os.WriteFile(doc, []byte(after), 0o644); err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(doc, ".md")+".svg", []byte(r.plot()), 0o644)
}

func sizeName(n int) string {
	if n >= 1<<10 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

var eraNames = map[string]string{modern: "modern", legacy: "legacy"}

var transportNames = map[string]string{"stdio": "stdio", "http": "HTTP"}

func (r *run) tables() string {
	var b strings.Builder
	row := func(columns ...string) { b.WriteString("| " + strings.Join(columns, " | ") + " |\n") }
	head := func(columns ...string) {
		b.WriteString("\n")
		row(columns...)
		b.WriteString("| --- " + strings.Repeat("| --: ", len(columns)-1) + "|\n")
	}
	fmt.Fprintf(&b, "Measured on %s, %d CPUs, %s/%s, %s, in %.0f minutes, %d interleaved rounds of %v.\n",
		time.Now().UTC().Format("2 January 2006"),
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), math.Ceil(time.Since(r.start).Minutes()),
		r.rounds, r.phase)
	head("calls", "direct p50", "anchor, ratio", "**indus, ratio**", "anchor, CPU s per 10,000",
		"**indus, CPU s per 10,000**", "anchor, peak MiB", "**indus, peak MiB**")
	for _, c := range r.cells {
		name := fmt.Sprintf("%s %s, %s, %d client", transportNames[c.transport], eraNames[c.era], sizeName(c.size), c.clients)
		if c.clients > 1 {
			name += "s"
		}
		of := func(side int) string {
			all := c.ratio(side)
			return fmt.Sprintf("%.2f (%.2f-%.2f)", median(all), all[0], all[len(all)-1])
		}
		row(name, fmt.Sprintf("%.0f µs", median(ordered(c.sides[direct].p50))), of(anchor),
			"**"+strings.Replace(of(indus), " ", "** ", 1),
			fmt.Sprintf("%.1f", c.sides[anchor].cpu()), fmt.Sprintf("%.1f", c.sides[indus].cpu()),
			fmt.Sprintf("%.0f", c.sides[anchor].peak), fmt.Sprintf("%.0f", c.sides[indus].peak))
	}
	head("list of 1,000 tools", "direct", "anchor, ratio", "**indus, ratio**")
	for _, l := range r.lists {
		base := median(l.sides[direct])
		row(transportNames[l.transport]+" "+eraNames[l.era], fmt.Sprintf("%.1f ms", base),
			fmt.Sprintf("%.2f", median(l.sides[anchor])/base), fmt.Sprintf("**%.2f**", median(l.sides[indus])/base))
	}
	head("indus at rest, one stdio server", "resident MiB")
	for _, f := range r.memory {
		row(append([]string{f.name}, f.value...)...)
	}
	head("stdio servers of 10 tools", "spawned directly, all listed, ms", "indus, all listed, ms", "ratio",
		"indus, first answer, ms", "the same, 10,000 tools in the ledger, ms", "`indus version`, ms")
	for _, f := range r.starts {
		row(append([]string{f.name}, f.value...)...)
	}
	return b.String()
}

func ordered(list []float64) []float64 { return slices.Sorted(slices.Values(list)) }

// The plot has a panel for each transport, with the ratio against the size, and a line for each side
// and number of clients.
const (
	panelWidth, panelHeight = 330, 220
	marginLeft, marginTop   = 45, 40
	gap                     = 60
)

func (r *run) plot() string {
	most := 1.5
	for i := range r.cells {
		if c := &r.cells[i]; c.era == modern {
			most = max(most, median(c.ratio(anchor)), median(c.ratio(indus)))
		}
	}
	most = math.Ceil(2*most) / 2
	var b strings.Builder
	width, height := marginLeft+2*panelWidth+gap+20, marginTop+panelHeight+75
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" `+
		`font-size="12">`+"\n", width, height)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	for panel, transport := range []string{"stdio", "http"} {
		left := float64(marginLeft + panel*(panelWidth+gap))
		x := func(size int) float64 { return left + math.Log2(float64(size)/64)/12*panelWidth }
		y := func(ratio float64) float64 { return marginTop + panelHeight*(1-ratio/most) }
		fmt.Fprintf(&b, `<text x="%.0f" y="22" font-weight="bold">%s: p50 of a call, direct = 1</text>`+"\n", left,
			transportNames[transport])
		for v := 0.0; v <= most; v += 0.5 {
			fmt.Fprintf(&b, `<path d="M%.1f %.1fh%d" stroke="#%s"/><text x="%.1f" y="%.1f" text-anchor="end">%.1f</text>`+"\n",
				left, y(v), panelWidth, map[bool]string{true: "888", false: "ddd"}[v == 1], left-6, y(v)+4, v)
		}
		for _, clients := range []int{1, 32} {
			for side, colour := range []string{anchor: "#999999", indus: "#0b62c4"}[anchor:] {
				side += anchor
				var points []string
				for i := range r.cells {
					if c := &r.cells[i]; c.transport == transport && c.era == modern && c.clients == clients {
						at := median(c.ratio(side))
						points = append(points, fmt.Sprintf("%.1f,%.1f", x(c.size), y(at)))
						fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(c.size), y(at), colour)
						if side == indus && clients == 1 {
							fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(c.size),
								marginTop+panelHeight+18, sizeName(c.size))
						}
					}
				}
				dash := map[bool]string{true: ` stroke-dasharray="5 4"`}[clients > 1]
				fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n",
					strings.Join(points, " "), colour, dash)
			}
		}
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d"><tspan fill="#0b62c4">indus</tspan>, <tspan fill="#777777">the anchor (stdio: `+
		`ids are replaced; HTTP: a reverse proxy)</tspan>; solid: 1 client, dashed: 32 clients; modern `+
		`era</text>`+"\n", marginLeft, height-15)
	return b.String() + "</svg>\n"
}
