package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/http"
)

// sitePage is a page of a [Site].
type sitePage struct {
	Who, Resource, Issuer string
	Action                string // where the confirmation goes; "": nothing is asked
	Proof, Wrong          bool   // a key is asked for, and the last was not good
	Done, Failed          bool   // it is over
	Say                   string // in the place of all this
}

var (
	noSignIn     = sitePage{Say: "This link has expired, or has been used. Repeat the request in your client to get a new one."}
	otherBrowser = sitePage{Say: "This sign-in was not confirmed in this browser. Open the link in the browser in which you sign in."}
)

const siteStyle = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem}` +
	`h1{font-size:1.4rem}dt{opacity:.75}dd{margin:0 0 .75rem;font-weight:600;overflow-wrap:anywhere}` +
	`label{display:block}input,button{font:inherit;padding:.5rem .75rem;box-sizing:border-box}input{width:100%;margin:.25rem 0 1rem}` +
	`.warning{border-left:.25rem solid;padding-left:.75rem}`

const siteText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>{{if .Say}}indus{{else if .Failed}}Not signed in{{else if .Done}}Signed in{{else}}Sign in?{{end}} – indus</title>
<style>` + siteStyle + `</style></head><body><main>
{{if .Say}}<h1>indus</h1><p>{{.Say}}</p>
{{else}}<h1>{{if .Failed}}Not signed in{{else if .Done}}Signed in{{else}}Sign in for <bdi>{{.Who}}</bdi>?{{end}}</h1>
<dl><dt>Server</dt><dd><bdi>{{.Resource}}</bdi></dd>
<dt>You sign in at</dt><dd><bdi>{{.Issuer}}</bdi></dd>
<dt>For whom</dt><dd><bdi>{{.Who}}</bdi></dd></dl>
{{if .Failed}}<p>Access was not granted, or could not be stored. Repeat the request in your client.</p>
{{else if .Done}}<p>Your client continues by itself. You can close this page.</p>
{{else}}<p>A client of this gateway asks for access to this server. Every client that calls as <bdi>{{.Who}}</bdi> will use the
account that you sign in with.</p>
<p class="warning"><strong>Continue only if that is you, and you have just started this.</strong> If somebody sent you this link, close the page:
they would get access to your account.</p>
<form method="post" action="{{.Action}}">
{{if .Proof}}<label for="key">The key or token that your client sends to this gateway</label>
<input id="key" name="key" type="password" required autocomplete="off"{{if .Wrong}} aria-invalid="true" aria-describedby="wrong"{{end}}>
{{if .Wrong}}<p id="wrong" role="alert">That is no key of <bdi>{{.Who}}</bdi>.</p>
{{end}}{{end}}<button>Continue to sign-in</button></form>
{{end}}{{end}}</main></body></html>
`

// sitePages is the template of all pages. It has no scripts.
var sitePages = template.Must(template.New("site").Parse(siteText))

func siteHeaders(h http.Header) {
	style := sha256.Sum256([]byte(siteStyle))
	h.Set("Content-Type", "text/html; charset=utf-8")
	// No form-action: browsers apply it to where the authorization server redirects, too.
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(style[:])+"'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // the authorization server does not hear of the link; with no-referrer a form would have no origin
	h.Set("Cache-Control", "no-store")
}

func (p sitePage) write(w http.ResponseWriter, status int) {
	siteHeaders(w.Header())
	w.WriteHeader(status)
	_ = sitePages.Execute(w, p)
}
