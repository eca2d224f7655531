package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
)

// factsOf returns what replicas compare: the version, and digests of the servers with the views, and of the policy.
// Values of "env" and of headers are not part of them.
func factsOf(c *mcpconfig.Config, k *controls) map[string]string {
	h := sha256.New()
	servers := c.Servers()
	slices.SortFunc(servers, func(a, b config.Server) int { return cmp.Compare(a.ID, b.ID) })
	for _, s := range servers {
		fmt.Fprintln(h, ledger.Fingerprint(s), s.Single, asText(s.Tools), asText(s.Pool))
	}
	for _, v := range c.Views {
		fmt.Fprintln(h, asText([]any{v.Name, v.Servers, v.Tools, v.Prompts, v.Resources, v.Mode, v.Publish}))
	}
	rules := "none"
	if set, report := k.options.Policy(); set != nil {
		rules = set.Version()
		if report {
			rules += " for reports only"
		}
	}
	return map[string]string{
		command.FactVersion:       command.ModuleVersion(),
		command.FactConfiguration: hex.EncodeToString(h.Sum(nil)[:4]),
		command.FactPolicy:        rules,
	}
}

// asText returns the JSON of a value of plain fields.
func asText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// publish publishes the configuration and the policy that this replica has now.
func (p *replication) publish(c *mcpconfig.Config, k *controls) {
	if m := p.members.Load(); m != nil {
		m.Publish(factsOf(c, k))
	}
}

// taken handles that another replica has the name of this one, at an address. "" means that this replica has it again.
func (p *replication) taken(holder string, s show.Streams) {
	p.holder.Store(&holder)
	if holder == "" {
		s.Reportf("cluster: this replica has the name %s again, and is ready", p.own.Name)
		return
	}
	s.Reportf("cluster: %s", p.takenText(holder))
}

func (p *replication) takenText(holder string) string {
	return fmt.Sprintf("the name %s was taken by a replica at %s while this one did not answer: this one is not ready, "+
		"and only it serves its sessions; end it, or the other one", p.own.Name, show.Clean(holder))
}

// isReady reports whether load balancers may send requests: this replica has its name.
func (p *replication) isReady() bool {
	holder := p.holder.Load()
	return holder == nil || *holder == ""
}

// counts returns the number of members and of problems, for metrics.
func (p *replication) counts() (members, problems int) {
	members = 1
	if m := p.members.Load(); m != nil {
		members = len(m.All())
	}
	return members, len(p.problems())
}

// problems returns a sentence about each replica that is missing, does not answer or differs.
func (p *replication) problems() (all []string) {
	if holder := p.holder.Load(); holder != nil && *holder != "" {
		all = append(all, p.takenText(*holder))
	}
	all = append(all, p.missing()...)
	p.silent.Range(func(_, text any) bool {
		all = append(all, text.(string))
		return true
	})
	if m := p.members.Load(); m != nil {
		all = append(all, show.Names(command.MemberDifferences(m.All()), command.MemberDifference.String)...)
	}
	return all
}

// defaultProblemTick is the interval of checkProblems without a cluster.
const defaultProblemTick = 10 * time.Second

// checkProblems reports problems that last, and their end.
func (p *replication) checkProblems(ctx context.Context, s show.Streams) {
	tick := defaultProblemTick
	if p.shared != nil {
		tick = p.shared.Lease
	}
	var before, reported []string
	for watch.Sleep(ctx, tick) {
		now := p.problems()
		for _, text := range now {
			if slices.Contains(before, text) && !slices.Contains(reported, text) {
				s.Reportf("%s", text)
				reported = append(reported, text)
			}
		}
		if len(now) == 0 && len(reported) > 0 {
			s.Reportf("the replicas have no problem any more")
		}
		reported = slices.DeleteFunc(reported, func(text string) bool { return !slices.Contains(now, text) })
		before = now
	}
}

// runName names this process in the ledger.
func (p *replication) runName(t *clientTransport) string {
	if p.replica == "" {
		return t.name()
	}
	return t.name() + ", replica " + p.own.Name
}
