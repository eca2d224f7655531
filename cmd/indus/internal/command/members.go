package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/replica/cluster"
)

// The facts that replicas publish and compare. Each has the remedy for a difference.
const (
	FactVersion       = "version"
	FactConfiguration = "configuration"
	FactPolicy        = "policy"
)

var comparedFacts = []struct{ name, remedy string }{
	{FactVersion, "finish the upgrade"},
	{FactConfiguration, "give all replicas the same servers and views"},
	{FactPolicy, "a call is decided by the replica that it reaches, so give all replicas the same policy"},
}

// Members returns the members of the cluster by name. It waits for them for a limited time.
func (c *Cluster) Members(ctx context.Context) (map[string]cluster.Member, error) {
	ctx, cancel := context.WithTimeout(ctx, clusterWait)
	defer cancel()
	members, err := cluster.ReadMembers(ctx, c)
	return members, clusterError(err)
}

// MemberLines returns a line for each member of a cluster, by name.
func MemberLines(members map[string]cluster.Member) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m := members[name]
		lines = append(lines, show.Clean(fmt.Sprintf("replica %s at %s, version %s", name, m.Address, m.Facts[FactVersion])))
	}
	return lines
}

// MemberDifference is a fact that is not the same at all members of a cluster.
type MemberDifference struct{ What, Remedy string }

// String returns a sentence.
func (d MemberDifference) String() string { return d.What + ": " + d.Remedy + "." }

// MemberDifferences returns the facts that are not the same at all members.
func MemberDifferences(members map[string]cluster.Member) (all []MemberDifference) {
	for _, fact := range comparedFacts {
		values := map[string][]string{}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			value := members[name].Facts[fact.name]
			values[value] = append(values[value], name)
		}
		if len(values) < 2 {
			continue
		}
		var groups []string
		for _, value := range slices.Sorted(maps.Keys(values)) {
			groups = append(groups, strings.Join(values[value], ", ")+": "+value)
		}
		what := fmt.Sprintf("The %s of the replicas differs (%s)", fact.name, strings.Join(groups, "; "))
		all = append(all, MemberDifference{show.Clean(what), fact.remedy})
	}
	return all
}
