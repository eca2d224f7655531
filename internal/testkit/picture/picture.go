// Package picture compares pictures of pages with golden ones. Pictures are compared in squares, so that letters of another
// machine do not matter, and a layout that is broken does.
package picture

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

const (
	// square is the side of the squares of a picture that are compared, in pixels.
	square = 8
	// similar is the difference of two colors that does not count, of 255.
	similar = 20
	// tolerated is the share of the squares that may differ.
	tolerated = 0.002
)

// Shrink returns a picture with a pixel for each square of another one.
func Shrink(src image.Image) *image.RGBA {
	size := src.Bounds().Size()
	out := image.NewRGBA(image.Rect(0, 0, (size.X+square-1)/square, (size.Y+square-1)/square))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			out.SetRGBA(x, y, mean(src, image.Rect(x, y, x+1, y+1)))
		}
	}
	return out
}

// mean returns the mean color of a square.
func mean(src image.Image, at image.Rectangle) color.RGBA {
	area := image.Rectangle{at.Min.Mul(square), at.Max.Mul(square)}.Add(src.Bounds().Min).Intersect(src.Bounds())
	var r, g, b, n uint32
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			one := color.RGBAModel.Convert(src.At(x, y)).(color.RGBA)
			r, g, b, n = r+uint32(one.R), g+uint32(one.G), b+uint32(one.B), n+1
		}
	}
	return color.RGBA{uint8(r / n), uint8(g / n), uint8(b / n), 255}
}

// Differ returns the difference of two shrunk pictures, or "" if a person sees the same layout.
func Differ(want, got *image.RGBA) string {
	w, g := want.Rect.Size(), got.Rect.Size()
	if w.X != g.X || max(w.Y, g.Y)-min(w.Y, g.Y) > 1+w.Y/100 {
		return fmt.Sprintf("the size is %d × %d squares, not %d × %d", g.X, g.Y, w.X, w.Y)
	}
	differ, all := 0, 0
	var first image.Point
	for y := range min(w.Y, g.Y) {
		for x := range w.X {
			all++
			if !has(got, x, y, want.RGBAAt(x, y)) || !has(want, x, y, got.RGBAAt(x, y)) {
				if differ == 0 {
					first = image.Pt(x*square, y*square)
				}
				differ++
			}
		}
	}
	if float64(differ) <= tolerated*float64(all) {
		return ""
	}
	return fmt.Sprintf("%d of %d squares differ, the first one at %d, %d", differ, all, first.X, first.Y)
}

// has reports whether a picture has a color at a place, or beside it.
func has(p *image.RGBA, x, y int, c color.RGBA) bool {
	for dy := -1; dy <= 1; dy++ {
		for dx := -1; dx <= 1; dx++ {
			if !image.Pt(x+dx, y+dy).In(p.Rect) {
				continue
			}
			o := p.RGBAAt(x+dx, y+dy)
			if max(distance(o.R, c.R), distance(o.G, c.G), distance(o.B, c.B)) <= similar {
				return true
			}
		}
	}
	return false
}

func distance(a, b uint8) uint8 { return max(a, b) - min(a, b) }

// Check compares the picture in a file with a golden one, which is shrunk. If they differ, it fails with the reason and
// both paths: the picture is copied to a directory that stays. With update, it writes the golden one.
func Check(t testing.TB, golden, file string, update bool) {
	t.Helper()
	got := Shrink(read(t, file))
	if update {
		write(t, golden, got)
		return
	}
	if _, err := os.Stat(golden); err != nil {
		t.Errorf("%v: write it with -update", err)
		return
	}
	want, ok := read(t, golden).(*image.RGBA)
	if !ok {
		t.Fatalf("%s is no picture that -update has written", golden)
	}
	if reason := Differ(want, got); reason != "" {
		actual := filepath.Join(os.TempDir(), "indus-pictures", filepath.Base(file))
		small := actual[:len(actual)-len(".png")] + "-small.png"
		write(t, actual, read(t, file))
		write(t, small, got)
		t.Errorf("%s: %s\nthe picture: %s\nas the golden one: %s\ngolden: %s\nIf the change is right, run the test with -update.",
			filepath.Base(file), reason, actual, small, golden)
	}
}

// Read reads a PNG.
func read(t testing.TB, file string) image.Image {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return img
}

func write(t testing.TB, file string, img image.Image) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(f, img); err != nil {
		t.Fatal(err)
	}
}
