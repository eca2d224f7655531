package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
)

//go:embed static
var staticFiles embed.FS

// staticVersion changes with the files, so that browsers can keep them.
var staticVersion = func() string {
	sum := sha256.New()
	for _, name := range []string{"page.css", "page.js"} {
		text, _ := staticFiles.ReadFile("static/" + name)
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}()

// static returns the address of a file of the page.
func static(name string) string { return "/static/" + name + "?v=" + staticVersion }

// serveStatic answers requests for the style sheet and the script. They are public.
func serveStatic(w http.ResponseWriter, r *http.Request, name string) {
	text, err := staticFiles.ReadFile("static/" + name)
	if err != nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
		notFound(w)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(text)
}
