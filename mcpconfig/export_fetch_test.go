package mcpconfig

import (
	"context"
	"fmt"
	"time"
)

// RunSecret runs a command line as ${cmd:…} does, with the given time limit.
func RunSecret(ctx context.Context, line string, wait time.Duration) (value, wrong string) {
	got := runSecret(ctx, fetch{target: line}, wait)
	return got.value, got.reason
}

// Fetch is a request of a ${file:…} or ${cmd:…}.
type Fetch struct{ Kind, What string }

// Expand replaces the variables of a text. If fetched is nil, each ${file:…} and
// ${cmd:…} stays as it is. wrong is "" if the text is right.
func Expand(text string, env func(string) (string, bool), fetched func(Fetch) string) (out string, wants []Fetch, wrong string) {
	place := newPlace(&Options{Dir: "/dir", Env: env, Home: "/home/me", XDG: "/home/me/xdg", State: "/home/me/state"})
	budget := maxExpand
	x := expansion{valuedRow: newPart("", 0, &site{path: "/dir/mcp.json", scope: User, place: place}, &budget)}
	if fetched != nil {
		x.fetched = func(f fetch) fetchResult { return fetchResult{value: fetched(Fetch{f.kind, f.target})} }
	}
	out = x.run(text)
	for _, w := range x.fetches {
		wants = append(wants, Fetch{w.kind, w.target})
	}
	if x.reason != "" || x.nul || len(x.missing) > 0 {
		wrong = fmt.Sprint(x.reason, x.nul, x.missing)
	}
	return out, wants, wrong
}
