package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

// What providers take of images, at their smallest. One image that a provider does not take makes it refuse every request
// from then on.
const (
	maxImages     = 5 // of one result
	maxImageBytes = 3 << 20
)

// withoutImages takes the images out of an outcome. A few words say where they were, and which are not shown.
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

// imageOf is the image (or the sound, which nobody is shown) that a block is. Its type is what its data is, whatever its owner says.
func imageOf(b toolbox.Block) (Image, bool) {
	var wire struct {
		Type string `json:"type"`
		Data []byte `json:"data"`
		MIME string `json:"mimeType"`
	}
	if !strings.HasPrefix(b.Wire.Format, "mcp/") || json.Unmarshal(b.Wire.JSON, &wire) != nil ||
		wire.Type != "image" && wire.Type != "audio" {
		return Image{}, false
	}
	if seen := http.DetectContentType(wire.Data); isShowable(seen) {
		wire.MIME = seen
	} else if isShowable(wire.MIME) {
		wire.MIME = "not " + wire.MIME
	}
	return Image{wire.MIME, wire.Data}, true
}

// problem is why a model is not shown an image that comes after n others.
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
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}
