package page

import (
	"fmt"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/ledger"
	"maragu.dev/gomponents"
)

// overview is the content of "/".
type overview struct {
	// Address is the URL at which clients connect.
	Address string `json:"address"`
	Servers struct {
		All   int `json:"all"`
		Ready int `json:"ready"`
		Idle  int `json:"idle"`  // started when they are needed
		Down  int `json:"down"`  // faulted
		Tools int `json:"tools"` // listed now
	} `json:"servers"`
	Calls struct {
		InFlight int `json:"inFlight"`
	} `json:"calls"`
	SignInsNeeded int `json:"signInsNeeded"`
	Approvals     struct {
		Waiting int `json:"waiting"`
	} `json:"approvals"`
	Changes struct {
		Tools int `json:"tools"`
		Held  int `json:"held"` // of them, held back
	} `json:"changes"`
	Policy struct {
		Mode  string `json:"mode"`
		Rules int    `json:"rules"`
	} `json:"policy"`
	Audit struct {
		Recorded bool `json:"recorded"`
	} `json:"audit"`
	// Day counts the requests of the last 24 hours.
	Day struct {
		Requests int64 `json:"requests"`
		Errors   int64 `json:"errors"` // of them, failed or denied
	} `json:"day"`
	Needs needs `json:"needs"`
}

func readOverview(v *visit) (*content, error) {
	s := v.site
	o := &overview{Address: s.mcpURL()}
	attached := s.Gateway.Attached()
	for _, st := range attached.Status() {
		o.Servers.All++
		switch {
		case st.Phase == interop.Ready:
			o.Servers.Ready++
		case st.Fault != nil:
			o.Servers.Down++
		case attached.Fleet.Idle(st.Server):
			o.Servers.Idle++
		}
		if st.Fault != nil && st.Fault.NeedsSignIn() {
			o.SignInsNeeded++
		}
	}
	o.Servers.Tools = len(attached.Snapshot("").Tools)
	for _, e := range attached.Changed() {
		o.Changes.Tools++
		if e.Op == ledger.Hold {
			o.Changes.Held++
		}
	}
	waiting, err := s.Control.Approvals.List(v.Context(), &approval.Filter{})
	if err != nil {
		return nil, err
	}
	o.Approvals.Waiting = len(waiting)
	if o.Needs, err = v.needs(waiting); err != nil {
		return nil, err
	}
	for _, minute := range s.Control.Activity.Minutes(24 * 60) {
		o.Day.Requests += minute.Requests
		o.Day.Errors += minute.Errors
	}
	set, mode := s.currentPolicy()
	o.Policy.Mode = mode
	if set != nil {
		o.Policy.Rules = set.Len()
	}
	o.Calls.InFlight = len(s.Control.Activity.InFlight())
	o.Audit.Recorded = s.AuditPath != ""
	return &content{o, func() gomponents.Node { return overviewPage(v, o) }}, nil
}

// tile is a part of the overview that leads to a section.
type tile struct {
	section     *section
	count, text string
	class       string // of the count: "good", "warn", "bad" or ""
}

// tiles returns the tiles of the overview. The list above them has what waits for a person.
func (o *overview) tiles() []tile {
	return []tile{
		o.serverTile(),
		countTile(&callsSection, o.Calls.InFlight, "request is in flight", "requests are in flight", ""),
		countTile(&usageSection, int(o.Day.Requests), "request in 24 hours", "requests in 24 hours", ""),
		countTile(&usageSection, int(o.Day.Errors), "of them failed or was denied", "of them failed or were denied", "bad"),
		o.policyTile(),
		o.auditTile(),
	}
}

// countTile returns a tile with a count. Unless it is 0, it has the class.
func countTile(s *section, n int, one, many, class string) tile {
	t := tile{section: s, count: fmt.Sprint(n), text: many}
	if n == 1 {
		t.text = one
	}
	if n > 0 {
		t.class = class
	}
	return t
}

func (o *overview) serverTile() tile {
	parts := []string{"ready", show.Count(o.Servers.Tools, "tool")}
	if o.Servers.Idle > 0 {
		parts = append(parts, fmt.Sprintf("%d idle", o.Servers.Idle))
	}
	t := tile{section: &serversSection, count: fmt.Sprintf("%d of %d", o.Servers.Ready, o.Servers.All), class: "good"}
	if o.Servers.Down > 0 {
		parts, t.class = append(parts, fmt.Sprintf("%d down", o.Servers.Down)), "bad"
	}
	t.text = strings.Join(parts, ", ")
	return t
}

func (o *overview) policyTile() tile {
	switch o.Policy.Mode {
	case modeNone:
		return tile{section: &policySection, count: "none", text: "every caller may do everything"}
	case modeReport:
		return tile{section: &policySection, count: show.Count(o.Policy.Rules, "rule"), text: "report only", class: "warn"}
	}
	return tile{section: &policySection, count: show.Count(o.Policy.Rules, "rule"), text: "enforced", class: "good"}
}

func (o *overview) auditTile() tile {
	if o.Audit.Recorded {
		return tile{section: &auditSection, count: "on", text: "requests are recorded", class: "good"}
	}
	return tile{section: &auditSection, count: "off", text: "requests are not recorded"}
}
