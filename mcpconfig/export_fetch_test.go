package mcpconfig

import (
	"context"
	"fmt"
	"time"
)

// RunSecret runs a command line as ${cmd:…} does, and waits as long as it is told.
func RunSecret(ctx context.Context, line string, wait time.Duration) (value, wrong string) {
	got := runSecret(ctx, fetch{what: line}, wait)
	return got.value, got.wrong
}

// Fetch is what a ${file:…} or a ${cmd:…} asks for.
type Fetch struct{ Kind, What string }

// Expand replaces the variables of a text. With fetched nil, what is to be fetched
// stays as it is; wrong is "" where the text is right.
func Expand(text string, env func(string) (string, bool), fetched func(Fetch) string) (out string, wants []Fetch, wrong string) {
	budget := maxExpand
	none := func(string) (string, bool) { return "", false }
	x := expansion{
		given: func(string) {}, env: env, fixed: none, budget: &budget,
		dir: func() string { return "/dir" }, root: func(string) string { return "" }, tilde: func(path string) string { return path },
	}
	if fetched != nil {
		x.fetched = func(f fetch) fetchResult { return fetchResult{value: fetched(Fetch{f.kind, f.what})} }
	}
	out = x.run(text)
	for _, w := range x.wants {
		wants = append(wants, Fetch{w.kind, w.what})
	}
	if x.reason != "" || x.nul || len(x.missing) > 0 {
		wrong = fmt.Sprint(x.reason, x.nul, x.missing)
	}
	return out, wants, wrong
}
