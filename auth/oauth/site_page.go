package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"net/http"
)

// sitePage is a page of a [Site].
type sitePage struct {
	Principal, Resource, Issuer string
	Action                      string // the target of the confirmation; "": there is no question
	Proof, WrongKey             bool   // the page asks for a key; the last key was wrong
	Done, Failed                bool   // the sign-in is over
	Text                        string // replaces all other text
}

var (
	noSignIn = sitePage{Text: "This link has expired or has been used, or the process that made it has ended. " +
		"Repeat the request in your client to get a new one."}
	// otherForm is for the form of another page. The browser does not send the cookie with it.
	otherForm = sitePage{Text: "This was not confirmed on the page itself, or your browser blocks its cookie. " +
		"Open the link again."}
	otherBrowser = sitePage{Text: "This sign-in was not confirmed in this browser. " +
		"Open the link in the browser in which you sign in."}
)

const siteStyle = `:root{color-scheme:light dark}` +
	`body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem}` +
	`h1{font-size:1.4rem}dt{opacity:.75}dd{margin:0 0 .75rem;font-weight:600;overflow-wrap:anywhere}` +
	`label{display:block}input,button{font:inherit;padding:.5rem .75rem;box-sizing:border-box}` +
	`input{width:100%;margin:.25rem 0 1rem}` +
	`.warning{border-left:.25rem solid;padding-left:.75rem}`

// text returns the page, which has no scripts. It is written by hand, because html/template prevents the linker from
// removing unused methods: 7 MB of the command.
func (p sitePage) text() string {
	principal := isolate(p.Principal)
	title, body := "indus", "<h1>indus</h1><p>"+html.EscapeString(p.Text)+"</p>"
	if p.Text == "" {
		heading := ""
		title, heading, body = "Sign in?", "Sign in for "+principal+"?", p.question(principal)
		switch {
		case p.Failed:
			title = "Not signed in"
			body = "<p>Access was not granted, or could not be stored. Repeat the request in your client.</p>"
			heading = title
		case p.Done:
			title, body = "Signed in", "<p>Your client continues by itself. You can close this page.</p>"
			heading = title
		}
		body = "<h1>" + heading + "</h1>\n" +
			"<dl><dt>Server</dt><dd>" + isolate(p.Resource) + "</dd>\n" +
			"<dt>You sign in at</dt><dd>" + isolate(p.Issuer) + "</dd>\n" +
			"<dt>For whom</dt><dd>" + principal + "</dd></dl>\n" + body
	}
	return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>` + title + ` – indus</title>
<style>` + siteStyle + "</style></head><body><main>\n" + body + "\n</main></body></html>\n"
}

// question returns the form in which the person confirms.
func (p sitePage) question(principal string) string {
	proof := ""
	if p.Proof {
		attributes, wrong := "", ""
		if p.WrongKey {
			attributes = ` aria-invalid="true" aria-describedby="wrong"`
			wrong = `<p id="wrong" role="alert">That is no key of ` + principal + ".</p>\n"
		}
		proof = `<label for="key">The key or token that your client sends to this gateway</label>
<input id="key" name="key" type="password" required autocomplete="off"` + attributes + ">\n" + wrong
	}
	return `<p>A client of this gateway asks for access to this server. Every client that calls as ` + principal + ` will
use the account that you sign in with.</p>
<p class="warning"><strong>Continue only if that is you, and you have just started this.</strong>
If you were sent this link, close the page: its sender would get access to your account.</p>
<form method="post" action="` + html.EscapeString(p.Action) + `">
` + proof + `<button>Continue to sign-in</button></form>`
}

// isolate returns a text of another party without markup, and with its own text direction.
func isolate(s string) string { return "<bdi>" + html.EscapeString(s) + "</bdi>" }

func siteHeaders(h http.Header) {
	style := sha256.Sum256([]byte(siteStyle))
	h.Set("Content-Type", "text/html; charset=utf-8")
	// No form-action: browsers also apply it to the redirect of the authorization server.
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; "+
		"style-src 'sha256-"+base64.StdEncoding.EncodeToString(style[:])+"'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	// It hides the link from the authorization server. With no-referrer a form would have no origin.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func (p sitePage) write(w http.ResponseWriter, status int) {
	siteHeaders(w.Header())
	w.WriteHeader(status)
	if status != http.StatusSeeOther {
		_, _ = io.WriteString(w, p.text())
	}
}
