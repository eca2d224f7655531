package conn

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
)

func TestHTTPPeers(t *testing.T) {
	for name, tt := range map[string]struct {
		url     func(testing.TB) string
		dial    func(context.Context, dialOptions) (Conn, Handshake, error)
		version string
		tool    string
		args    string
	}{
		"everything":          {peers.EverythingHTTP, dialHTTP, protocol.VersionLegacy, "echo", `{"message":"münze"}`},
		"everything SSE":      {peers.EverythingSSE, dialHTTP, protocol.VersionLegacy, "echo", `{"message":"münze"}`},
		"everything SSE only": {peers.EverythingSSE, dialSSE, protocol.VersionLegacy, "echo", `{"message":"münze"}`},
		"sdk modern":          {func(t testing.TB) string { return peers.SDKEverythingHTTP(t, true) }, dialHTTP, protocol.VersionModern, "test_simple_text", `{}`},
		"sdk legacy":          {func(t testing.TB) string { return peers.SDKEverythingHTTP(t, false) }, dialHTTP, protocol.VersionLegacy, "test_simple_text", `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			n := newNotes()
			c, h, err := tt.dial(t.Context(), dialOptions{url: tt.url(t), receive: n.take})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if h.Version != tt.version || len(h.ServerInfo) == 0 || len(h.Capabilities) == 0 {
				t.Errorf("%+v", h)
			}
			list := toolCall(h.Era, "", `{}`, 0)
			list.Method, list.Name = protocol.MethodToolsList, ""
			var tools struct{ Tools []struct{ Name string } }
			got, err := c.Call(t.Context(), list)
			if err != nil || json.Unmarshal(got, &tools) != nil || len(tools.Tools) == 0 {
				t.Fatalf("%s, %v", got, err)
			}
			got, err = c.Call(t.Context(), toolCall(h.Era, tt.tool, tt.args, 0))
			if err != nil || tt.tool == "echo" && !strings.Contains(string(got), "münze") {
				t.Errorf("%v: %s, %v", tools.Tools, got, err)
			}
		})
	}
}

func TestHTTPFixture(t *testing.T) {
	for flags, want := range map[string]struct {
		era  protocol.Era
		tool string
		text string // in the result, or in the error
	}{
		"-era modern":                                    {protocol.Modern, "echo_raw", "clientCapabilities"},
		"-era modern -sse-answers":                       {protocol.Modern, "progress", "done"},
		"-era dual":                                      {protocol.Modern, "echo", "content"},
		"-era legacy -probe method":                      {protocol.Legacy, "progress", "done"},
		"-era legacy -probe error -sse-answers":          {protocol.Legacy, "progress", "done"},
		"-era legacy -probe empty":                       {protocol.Legacy, "echo", "content"},
		"-era legacy -probe text":                        {protocol.Legacy, "echo", "content"},
		"-era legacy -probe ignore":                      {protocol.Legacy, "echo", "content"},
		"-era legacy -legacy-version 2024-11-05":         {protocol.Legacy, "echo", "content"},
		"-era legacy -resume":                            {protocol.Legacy, "progress", "done"},
		"-era legacy -sse":                               {protocol.Legacy, "progress", "done"},
		"-era legacy -pings 5ms":                         {protocol.Legacy, "sleep", "awake"},
		"-era legacy -sse -pings 5ms":                    {protocol.Legacy, "sleep", "awake"},
		"-era modern -malformed tools/call":              {protocol.Modern, "echo", "broken"},
		"-era legacy -malformed tools/call":              {protocol.Legacy, "echo", "broken"},
		"-era legacy -sse -malformed tools/call":         {protocol.Legacy, "echo", "broken"},
		"-era modern -sse-answers -malformed tools/call": {protocol.Modern, "echo", "broken"},
		"-era modern -bare":                              {protocol.Modern, "rpcerror", "no such luck"},
		"-era legacy -bare":                              {protocol.Legacy, "rpcerror", "no such luck"},
		"-era modern -no-list-changed":                   {protocol.Modern, "die", ""},
		"-era legacy -no-list-changed":                   {protocol.Legacy, "die", ""},
		"-era legacy -no-list-changed -sse":              {protocol.Legacy, "die", ""},
		"-era legacy -drop-session 2":                    {protocol.Legacy, "echo", "has ended the bridge's session"},
		"-era modern -delay 100ms":                       {protocol.Modern, "headers", "Mcp-Name"},
	} {
		t.Run(flags, func(t *testing.T) {
			noLeaks(t)
			f := fixture.New(t, strings.Fields(flags)...)
			o := dialOptions{url: f.HTTP()}
			if strings.Contains(flags, "ignore") {
				o.probe = 50 * time.Millisecond
			}
			c, h := mustDial(t, o)
			if h.Era != want.era {
				t.Errorf("%+v", h)
			}
			args := `{"message":"x"}`
			if want.tool == "sleep" {
				args = `{"ms":100}`
			}
			x := toolCall(h.Era, want.tool, args, 5)
			n := newNotes()
			x.Receive = n.take
			got, err := c.Call(t.Context(), x)
			for strings.Contains(flags, "drop") && err == nil {
				got, err = c.Call(t.Context(), x)
			}
			if err != nil {
				got = []byte(err.Error())
			}
			if !strings.Contains(string(got), want.text) || want.tool == "die" && err == nil {
				t.Errorf("%s", got)
			}
			if want.tool == "progress" && len(n.list) != 3 {
				t.Errorf("%d reports", len(n.list))
			}
			if strings.Contains(flags, "-pings") {
				f.Wait("pong {}")
			}
			if err == nil && h.Era == protocol.Legacy && !slices.Contains(f.Args, "-sse") {
				c.Close()
				f.Wait("deleted")
			}
		})
	}
}

func TestHTTPFixtureCancels(t *testing.T) {
	for _, flags := range []string{"-era modern", "-era modern -sse-answers", "-era legacy", "-era legacy -sse-answers", "-era legacy -resume", "-era legacy -sse"} {
		t.Run(flags, func(t *testing.T) {
			noLeaks(t)
			f := fixture.New(t, strings.Fields(flags)...)
			c, h := mustDial(t, dialOptions{url: f.HTTP()})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				f.Wait("call hang")
				cancel()
			}()
			if _, err := c.Call(ctx, toolCall(h.Era, "hang", `{"key":"never"}`, 0)); !errors.Is(err, context.Canceled) {
				t.Errorf("err = %v", err)
			}
			if h.Era == protocol.Modern {
				f.Wait("disconnected")
			} else {
				f.Wait("cancelled")
			}
		})
	}
}
