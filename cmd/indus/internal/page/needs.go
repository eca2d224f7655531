package page

import (
	"cmp"
	"context"
	"slices"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/approval"
)

// maxNeeds bounds the entries of each kind on the overview. Their sections have the others.
const maxNeeds = 5

// needs is everything that waits for a person. Each list has the first entries: the counts of the overview are of all.
type needs struct {
	// Calls are the calls that wait for approval, the first to expire first.
	Calls []approvalRow `json:"calls,omitempty"`
	// Tools are new or changed, the held ones first.
	Tools []changedRow `json:"tools,omitempty"`
	// Servers are down, for another reason than a missing sign-in.
	Servers []serverRow `json:"servers,omitempty"`
	SignIns []string    `json:"signIns,omitempty"` // servers whose sign-in is missing or has lapsed
	Policy  string      `json:"policy,omitempty"`  // the reason why the policy cannot be used as it is now
	// Replicas are sentences about replicas that are missing.
	Replicas []string `json:"replicas,omitempty"`

	changed, down int // tools, and servers
}

// isEmpty reports whether no person is needed.
func (n *needs) isEmpty() bool {
	return len(n.Calls)+len(n.Tools)+len(n.Servers)+len(n.SignIns)+len(n.Replicas) == 0 && n.Policy == ""
}

// needs returns everything that waits for a person.
func (v *visit) needs(waiting []approval.Item) (n needs, err error) {
	s := v.site
	slices.SortStableFunc(waiting, func(a, b approval.Item) int { return a.Expires.Compare(b.Expires) })
	if n.Calls, err = v.waitingRows(firstOf(waiting)); err != nil {
		return n, err
	}
	if len(s.Gateway.Attached().Changed()) > 0 { // without reading the ledger
		if n.Tools, n.changed, err = v.changedRows(); err != nil {
			return n, err
		}
	}
	for _, row := range s.serverRows() {
		if row.Fault != "" && !row.needsSignIn {
			n.Servers = append(n.Servers, row)
		}
	}
	n.down = len(n.Servers)
	n.Servers = firstOf(n.Servers)
	n.SignIns, err = v.lapsedSignIns()
	if cause := s.PolicyProblem(); cause != nil {
		n.Policy = cause.Error()
	}
	if s.Replicas != nil {
		n.Replicas = s.Replicas()
	}
	return n, err
}

func firstOf[T any](all []T) []T { return all[:min(len(all), maxNeeds)] }

// changedRows returns the first new and changed tools that no person has refused, the held ones first.
func (v *visit) changedRows() (rows []changedRow, all int, err error) {
	open, _, err := v.site.changedTools(v.Context())
	if err != nil {
		return nil, 0, err
	}
	open = show.Where(open, isOpenChange)
	held := func(o *describe.ChangedTool) int { return map[bool]int{true: 0, false: 1}[o.Held] }
	slices.SortStableFunc(open, func(a, b describe.ChangedTool) int { return cmp.Compare(held(&a), held(&b)) })
	for _, o := range firstOf(open) {
		rows = append(rows, v.changedRow(o))
	}
	return rows, len(open), nil
}

// lapsedSignIns returns the servers of which a sign-in is missing or has lapsed.
func (v *visit) lapsedSignIns() (names []string, err error) {
	all, err := v.signInServers()
	for _, row := range all {
		isLapsed := func(u signedUser) bool { return !u.Good }
		if row.Needed || slices.ContainsFunc(row.Users, isLapsed) {
			names = append(names, row.Server)
		}
	}
	return names, err
}

// counts are the numbers beside the sections in the navigation.
type counts struct {
	calls, tools, servers, signIns, policy int
	waits                                  []string // the ids of the first calls and tools that wait
}

// counts returns the numbers of all that waits for a person.
func (s *Site) counts(ctx context.Context) (n counts) {
	waiting, _ := s.Control.Approvals.List(ctx, &approval.Filter{}) // an error is shown where the calls are
	n.calls, n.waits = len(waiting), show.Names(waiting, func(i approval.Item) string { return i.ID })
	if n.tools = len(s.Gateway.Attached().Changed()); n.tools > 0 {
		if all, _, err := s.changedTools(ctx); err == nil {
			all = show.Where(all, isOpenChange)
			sums := show.Names(all, func(o describe.ChangedTool) string { return o.Sum })
			n.tools, n.waits = len(all), append(n.waits, sums...)
		}
	}
	for _, st := range s.Gateway.Attached().Status() {
		switch {
		case st.Fault == nil:
		case st.Fault.NeedsSignIn():
			n.signIns++
		default:
			n.servers++
		}
	}
	if s.PolicyProblem() != nil {
		n.policy = 1
	}
	n.waits = n.waits[:min(len(n.waits), maxRows)]
	return n
}

// of returns the number of a section.
func (n counts) of(s *section) int {
	switch s {
	case &approvalsSection:
		return n.calls
	case &changesSection:
		return n.tools
	case &serversSection:
		return n.servers
	case &signInsSection:
		return n.signIns
	case &policySection:
		return n.policy
	}
	return 0
}
