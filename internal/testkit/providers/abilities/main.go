// Command abilities is testdata/peers/abilities.mjs for clients in Go, from go-sdk and mcp-go. It takes the same places
// and prints the same outcomes. With two arguments it is signin.mjs.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"
)

// place is a URL for testing clients, with the names to use there.
type place struct {
	URL, Calls, Asks, Prompt, Reads, Watched string
	Patience                                 int // limit of the wait for an update, in seconds
}

// outcome holds the results of abilities: "" or an error.
type outcome map[string]string

// heard holds the messages that a client receives from its server.
type heard struct {
	asked   chan struct{}
	updated chan string
}

// session is a connected client. names are the names in a list, and text is a result as JSON.
type session interface {
	tools(context.Context) (names []string, err error)
	call(ctx context.Context, name string, args map[string]any) (text []byte, err error)
	resources(context.Context) (uris []string, err error)
	read(ctx context.Context, uri string) (text []byte, err error)
	prompts(context.Context) (names []string, err error)
	prompt(ctx context.Context, name string) (text []byte, err error)
	subscribe(ctx context.Context, uri string) error
}

type connect func(ctx context.Context, url string, h *heard) (session, error)

func main() {
	if len(os.Args) > 2 {
		scopes := map[string]string{}
		if err := json.Unmarshal([]byte(os.Args[1]), &scopes); err != nil {
			panic(err)
		}
		signIn(os.Args[2], scopes)
		return
	}
	places := map[string]place{}
	if err := json.Unmarshal([]byte(os.Args[1]), &places); err != nil {
		panic(err)
	}
	clients := map[string]connect{
		"go-sdk, legacy": official("2025-11-25", nil), "go-sdk, modern": official("2026-07-28", nil),
		"mcp-go, legacy": mark3labs("2025-11-25", nil), "mcp-go, modern": mark3labs("2026-07-28", nil),
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	found := map[string]map[string]outcome{}
	for client, open := range clients {
		found[client] = map[string]outcome{}
		for name, at := range places {
			wg.Go(func() {
				out := try(open, at)
				mu.Lock()
				defer mu.Unlock()
				found[client][name] = out
			})
		}
	}
	wg.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		panic(err)
	}
}

// try makes one client use all its abilities at one place.
func try(open connect, at place) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out := outcome{}
	attempt := func(name string, err error) {
		out[name] = ""
		if err != nil {
			out[name] = err.Error()
		}
	}
	h := &heard{make(chan struct{}, 10), make(chan string, 100)}
	s, err := open(ctx, at.URL, h)
	attempt("connects", err)
	if err != nil {
		return out
	}
	subscribed := s.subscribe(ctx, at.Watched)
	has := func(names []string, err error, name string) error {
		if err == nil && !slices.Contains(names, name) {
			return fmt.Errorf("%s is not in %q", name, names)
		}
		return err
	}
	says := func(text []byte, err error, what string) error {
		if err == nil && !regexp.MustCompile(what).Match(text) {
			return fmt.Errorf("got %s", text)
		}
		return err
	}
	names, err := s.tools(ctx)
	attempt("lists tools", has(names, err, at.Calls))
	text, err := s.call(ctx, at.Calls, nil)
	attempt("calls", says(text, err, "simple text response"))
	names, err = s.resources(ctx)
	attempt("lists resources", has(names, err, at.Watched))
	text, err = s.read(ctx, at.Reads)
	attempt("reads", says(text, err, "static text resource"))
	names, err = s.prompts(ctx)
	attempt("lists prompts", has(names, err, at.Prompt))
	text, err = s.prompt(ctx, at.Prompt)
	attempt("gets a prompt", says(text, err, "simple prompt"))
	text, err = s.call(ctx, at.Asks, map[string]any{"message": "who?"})
	if err == nil && len(h.asked) != 1 {
		err = fmt.Errorf("asked %d times", len(h.asked))
	}
	attempt("answers a question", says(text, err, "example.com|Hello, u|accept"))
	if subscribed == nil {
		subscribed = updated(h, at)
	}
	attempt("subscribes", subscribed)
	return out
}

// updated waits for an update of a resource.
func updated(h *heard, at place) error {
	late := time.After(time.Duration(at.Patience) * time.Second)
	for {
		select {
		case is := <-h.updated:
			if is == at.Watched {
				return nil
			}
		case <-late:
			return fmt.Errorf("no update comes")
		}
	}
}

// answer returns the client's answer to each question.
func answer() map[string]any {
	return map[string]any{"username": "u", "email": "u@example.com", "name": "u"}
}

// encoded returns a result as JSON.
func encoded(v any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
