// Package picture compares pictures of pages with golden ones, for their layout and not for their letters. Begin with
// [Check]. A golden picture is small and gray, so that another way to draw letters changes little of it.
package picture

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

const (
	scale  = 2  // pixels of a given picture for one of a golden picture, in each direction
	levels = 16 // of gray
	cell   = 4  // pixels of a golden picture that are compared by their mean, in each direction
	// maxDistance is the difference of two means of gray, of 255, that a reader does not see as another layout.
	maxDistance = 20
	// MaxParts is the number of cells of thousand that may differ by more.
	MaxParts = 10
)

// Check compares each picture in a directory with the golden one of the same name. It writes a picture that differs,
// and the difference, into the directory out. If update is set, it writes the golden pictures instead.
func Check(t testing.TB, seen, golden, out string, update bool) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(seen, "*.png"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no picture in %s: %v", seen, err)
	}
	for _, name := range names {
		want := filepath.Join(golden, filepath.Base(name))
		small := Shrink(Open(t, name))
		if update {
			write(t, want, small)
			continue
		}
		if _, err := os.Stat(want); errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is missing: -update writes it", want)
			continue
		}
		parts, difference := Compare(small, Open(t, want))
		t.Logf("%s: %d of 1000 parts differ", filepath.Base(name), parts)
		if parts > MaxParts {
			place := filepath.Join(out, filepath.Base(name))
			write(t, place, Open(t, name))
			write(t, place+".difference.png", difference)
			t.Errorf("%s looks different: %d of 1000 parts. The picture is %s, and the difference is beside it. "+
				"If it is right, -update writes it", want, parts, place)
		}
	}
}

// Shrink returns a picture in the size and the colors of a golden one.
func Shrink(full image.Image) image.Image {
	grays := make(color.Palette, levels)
	for i := range grays {
		grays[i] = color.Gray{uint8(i * 255 / (levels - 1))}
	}
	b := full.Bounds()
	small := image.NewPaletted(image.Rect(0, 0, b.Dx()/scale, b.Dy()/scale), grays)
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			mean := meanOf(full, image.Rect(0, 0, scale, scale).Add(b.Min).Add(image.Pt(x*scale, y*scale)))
			small.SetColorIndex(x, y, uint8((mean*(levels-1)+127)/255))
		}
	}
	return small
}

// Compare returns how many of thousand parts of two shrunk pictures differ, and a picture that shows them. A part that
// only one of the pictures has differs.
func Compare(seen, golden image.Image) (parts int, difference image.Image) {
	both := seen.Bounds().Union(golden.Bounds())
	shown := image.NewGray(both)
	differ, all := 0, 0
	for y := both.Min.Y; y < both.Max.Y; y += cell {
		for x := both.Min.X; x < both.Max.X; x += cell {
			part := image.Rect(x, y, x+cell, y+cell).Intersect(both)
			all++
			distance := 255
			if part.In(seen.Bounds()) && part.In(golden.Bounds()) {
				distance = max(meanOf(seen, part)-meanOf(golden, part), meanOf(golden, part)-meanOf(seen, part))
			}
			if distance > maxDistance {
				differ++
				fill(shown, part)
			}
		}
	}
	return (differ*1000 + all - 1) / all, shown
}

// meanOf returns the mean gray of a part of a picture.
func meanOf(of image.Image, part image.Rectangle) int {
	sum := 0
	full, isFull := of.(*image.RGBA) // a whole picture of a page, for which the other way takes seconds
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			if isFull {
				pixel := full.Pix[full.PixOffset(x, y):]
				sum += (299*int(pixel[0]) + 587*int(pixel[1]) + 114*int(pixel[2])) / 1000
				continue
			}
			sum += int(color.GrayModel.Convert(of.At(x, y)).(color.Gray).Y)
		}
	}
	return sum / (part.Dx() * part.Dy())
}

func fill(shown *image.Gray, part image.Rectangle) {
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			shown.SetGray(x, y, color.Gray{255})
		}
	}
}

// Open reads a picture.
func Open(t testing.TB, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	opened, err := png.Decode(f)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", path, err))
	}
	return opened
}

func write(t testing.TB, path string, written image.Image) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := errors.Join(encoder.Encode(f, written), f.Close()); err != nil {
		t.Fatal(err)
	}
}
