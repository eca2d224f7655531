package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

// These limits are the lowest among the providers. If a conversation holds one image that a provider does not accept,
// the provider refuses every later request.
const (
	maxImages     = 5 // in one result
	maxImageBytes = 3 << 20
)

// withoutImages moves the images out of an outcome. A short note replaces each image. If the image is not shown, the
// note has the reason.
func withoutImages(out toolbox.Outcome) (toolbox.Outcome, []Image) {
	var images []Image
	var blocks []toolbox.Block
	found := false
	for _, b := range out.Result.Blocks() {
		image, ok := imageOf(b)
		if !ok {
			blocks = append(blocks, b)
			continue
		}
		found = true
		problem := image.problem(len(images))
		if problem == "" {
			images = append(images, image)
		}
		note := fmt.Sprintf("[%s, %d bytes%s]", text.Clip(text.OneLine(image.MIME), 50), len(image.Data), problem)
		blocks = append(blocks, toolbox.Text(note))
	}
	if !found {
		return out, nil
	}
	return out.Showing(toolbox.DefaultBudget, blocks...), images
}

// imageOf returns the image in a block, which may be a resource. It also returns sound, which is never shown. The data
// determines the type, not the server's label.
func imageOf(b toolbox.Block) (Image, bool) {
	mime, data, ok := b.Media()
	detected := http.DetectContentType(data)
	switch {
	case !ok:
		return Image{}, false
	case isShowable(detected):
		mime = detected
	case isResource(b): // a line about it is shown
		return Image{}, false
	case isShowable(mime):
		mime = "not " + mime
	}
	return Image{mime, data}, true
}

func isResource(b toolbox.Block) bool {
	var known struct{ Type string }
	return json.Unmarshal(b.Wire.JSON, &known) == nil && known.Type == "resource"
}

// problem returns the reason for which the model does not receive an image after n others, or "".
func (i Image) problem(n int) string {
	switch {
	case !isShowable(i.MIME):
		return ": not shown, because models take PNG, JPEG, GIF and WebP"
	case len(i.Data) > maxImageBytes:
		return fmt.Sprintf(": not shown, because it has more than %d bytes", maxImageBytes)
	case n >= maxImages:
		return fmt.Sprintf(": not shown, because %d images before it are", maxImages)
	}
	return ""
}

func isShowable(mime string) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mime)
}
