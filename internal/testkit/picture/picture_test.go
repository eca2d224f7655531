package picture_test

import (
	"image"
	"image/color"
	"image/draw"
	"testing"

	"github.com/indusagi/indus/internal/testkit/picture"
)

// drawn is a page of cards with lines of letters, in half of its size. The letters have a weight, and are moved a little
// to the right. The last cards begin lower.
func drawn(weight uint8, right, lower int) image.Image {
	page := image.NewGray(image.Rect(0, 0, 400, 800))
	draw.Draw(page, page.Rect, image.White, image.Point{}, draw.Src)
	for line := range 30 {
		y := 20 + 24*line
		if line > 15 {
			y += lower
		}
		for x := 20 + right; x < 300+right; x += 9 {
			for i := range 5 * 12 {
				page.SetGray(x+i%5, y+i/5, color.Gray{weight})
			}
		}
	}
	half := image.NewGray(image.Rect(0, 0, 200, 400))
	for y := range 400 {
		for x := range 200 {
			sum := 0
			for i := range 4 {
				sum += int(page.GrayAt(2*x+i%2, 2*y+i/2).Y)
			}
			half.SetGray(x, y, color.Gray{uint8(sum / 4)})
		}
	}
	return half
}

// Another way to draw letters is the same picture. A line more, or a page that ends earlier, is another one.
func TestPicturesAreComparedByTheirLayout(t *testing.T) {
	t.Parallel()
	golden := picture.Shrink(drawn(60, 0, 0))
	for _, row := range []struct {
		name   string
		seen   image.Image
		isSame bool
	}{
		{"the same", drawn(60, 0, 0), true}, {"lighter letters", drawn(90, 0, 0), true},
		{"letters at another place of their pixel", drawn(60, 1, 0), true}, {"a line more", drawn(60, 0, 12), false},
		{"no letters", drawn(255, 0, 0), false},
		{"shorter", drawn(60, 0, 0).(*image.Gray).SubImage(image.Rect(0, 0, 200, 350)), false},
	} {
		if parts, _ := picture.Compare(picture.Shrink(row.seen), golden); (parts <= picture.MaxParts) != row.isSame {
			t.Errorf("%s: %d of 1000 parts differ", row.name, parts)
		}
	}
}
