package page

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
	"maragu.dev/gomponents"
)

// serversSection is the section at "/servers".
var serversSection = section{
	path: "servers", title: "Servers", fields: "q", data: readServers,
	actions: map[string]func(*visit) (string, error){
		"restart": restartServer,
		"enable":  func(v *visit) (string, error) { return switchServer(v, true) },
		"disable": func(v *visit) (string, error) { return switchServer(v, false) },
	},
}

// maxRows bounds the rows of a table. Further rows are found by a filter or on the next page.
const maxRows = 200

// serverList is the content of the section.
type serverList struct {
	Servers []serverRow `json:"servers"`
	Total   int         `json:"total"` // before the filter
	Filter  string      `json:"filter,omitempty"`
}

// serverRow is a row of the configuration, and its server if it is served.
type serverRow struct {
	ID     string `json:"id"`
	State  string `json:"state"` // of the row: active, disabled, held, …
	Reason string `json:"reason,omitempty"`
	Kind   string `json:"transport,omitempty"`
	Target string `json:"target,omitempty"`
	Place  string `json:"place"` // FILE:LINE

	Replica  string    `json:"replica,omitempty"` // that runs it, if it runs once in a cluster
	Phase    string    `json:"phase,omitempty"`
	Version  string    `json:"protocol,omitempty"`
	Era      string    `json:"era,omitempty"`
	Tools    int       `json:"tools"`
	InFlight int       `json:"inFlight"`
	Waiting  int       `json:"waiting"`
	Restarts int       `json:"restarts"`
	TookMS   float64   `json:"connectMs,omitempty"`
	LastMS   []float64 `json:"callsMs,omitempty"` // of the last calls
	Fault    string    `json:"fault,omitempty"`
	Retry    time.Time `json:"retry,omitzero"` // the next attempt, if the server is down
	Advice   string    `json:"advice,omitempty"`
	Stderr   string    `json:"stderr,omitempty"`

	needsSignIn bool // it is down because a sign-in is missing
}

// readServers returns the servers that the query "q" selects.
func readServers(v *visit) (*content, error) {
	l := serverList{Servers: []serverRow{}, Filter: v.URL.Query().Get("q")}
	for _, row := range v.site.serverRows() {
		l.Total++
		if len(l.Servers) < maxRows && matches(l.Filter, row.ID, row.State, row.Phase, row.Target) {
			l.Servers = append(l.Servers, row)
		}
	}
	return &content{l, func() gomponents.Node { return serversPage(v, l) }}, nil
}

// serverRows returns all rows, sorted by need: servers that are down come first, and servers that are off come last.
func (s *Site) serverRows() (all []serverRow) {
	running := map[string]interop.EndpointStatus{}
	for _, st := range s.Gateway.Attached().Status() {
		running[st.Server] = st
	}
	for _, r := range s.Config().Rows {
		if r.Server.ID == "" || r.State == mcpconfig.Shadowed {
			continue
		}
		row := serverRow{
			ID: r.Server.ID, State: string(r.State), Reason: command.JoinHint(r.Reason, r.Hint), Kind: string(r.Kind),
			Target: r.Target, Place: fmt.Sprintf("%s:%d", r.File, r.Line),
		}
		if row.Reason == row.State {
			row.Reason = ""
		}
		if st, ok := running[row.ID]; ok && r.State == mcpconfig.Active {
			s.addStatus(&row, &st)
		}
		all = append(all, row)
	}
	slices.SortStableFunc(all, func(a, b serverRow) int { return cmp.Compare(a.need(), b.need()) })
	return all
}

// need returns the place of a row in the order of the need for a person.
func (r *serverRow) need() int {
	switch {
	case r.Phase == string(interop.Faulted) || r.Fault != "":
		return 0
	case r.State != string(mcpconfig.Active) && r.State != string(mcpconfig.Disabled): // such as a held row
		return 1
	case r.State == string(mcpconfig.Disabled):
		return 4
	case r.Phase != string(interop.Ready) && r.Phase != idlePhase:
		return 2
	}
	return 3
}

// idlePhase is the phase of a server that starts when it is needed.
const idlePhase = "idle"

// addStatus adds the state of the running server to a row.
func (s *Site) addStatus(row *serverRow, st *interop.EndpointStatus) {
	fleet := s.Gateway.Attached().Fleet
	row.Phase, row.Version, row.Era, row.Tools = string(st.Phase), st.Version, string(st.Era), st.Tools
	if fleet.Idle(row.ID) {
		row.Phase = idlePhase
	}
	row.Replica = s.RunsAt(row.ID)
	row.TookMS, row.Restarts = milliseconds(st.Took), s.Gateway.Restarts(row.ID)
	row.InFlight, row.Waiting = fleet.Load(row.ID)
	if st.Fault != nil {
		row.Retry, row.needsSignIn = st.Retry, st.Fault.NeedsSignIn()
		row.Fault, row.Advice = show.Clean(st.Fault.Error()), show.Clean(st.Fault.Advice())
	}
	if e, err := fleet.Endpoint(row.ID, ""); err == nil {
		row.Stderr = lastLines(e.Stderr(), 20)
	}
	for _, d := range s.Control.Activity.Durations(row.ID) {
		row.LastMS = append(row.LastMS, milliseconds(d))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// lastLines returns the last n lines of a text.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return show.CleanLines(strings.Join(lines[max(0, len(lines)-n):], "\n"))
}

// matches reports whether one of the texts contains the filter, in upper or lower case.
func matches(filter string, texts ...string) bool {
	filter = strings.ToLower(strings.TrimSpace(filter))
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), filter) })
}

func restartServer(v *visit) (string, error) {
	server, err := v.serverOfForm()
	if err != nil {
		return "", err
	}
	id := server.ID
	restart := v.site.Gateway.Attached().Fleet.RestartServer
	if v.site.RunsAt(id) != "" {
		restart = func(id string) error { return v.site.Restart(v.Context(), id) }
	}
	if err := restart(id); err != nil {
		return "", err
	}
	return id + " is being restarted", nil
}

// switchServer writes into the row's file whether the server is on. The gateway follows the file a moment later, so the
// file decides whether there is anything to change.
func switchServer(v *visit, on bool) (string, error) {
	id := v.PostForm.Get("server")
	row, ok := v.site.Config().Find(id, func(r mcpconfig.Row) bool {
		return r.State == mcpconfig.Active || r.State == mcpconfig.Disabled
	})
	if !ok {
		return "", fmt.Errorf("%q: %w", id, errNotFound)
	}
	ctx, cancel := context.WithTimeout(v.Context(), actionWait)
	defer cancel()
	unlock, err := mcpconfig.Lock(ctx, nil)
	if err != nil {
		return "", err
	}
	defer unlock()
	file, err := mcpconfig.Open(row.File)
	if err != nil {
		return "", err
	}
	before := file.Text()
	if err := file.Enable(id, on); err != nil {
		return "", err
	}
	if bytes.Equal(before, file.Text()) {
		return "", errors.New("it is so already")
	}
	if err := file.Save(); err != nil {
		return "", err
	}
	if on {
		return fmt.Sprintf("%s is on at %s:%d, and starts soon", id, row.File, row.Line), nil
	}
	return fmt.Sprintf("%s is off at %s:%d, and ends soon", id, row.File, row.Line), nil
}

// actionWait bounds an action that waits for a file.
const actionWait = 10 * time.Second
