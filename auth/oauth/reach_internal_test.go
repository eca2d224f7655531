package oauth

import (
	"net/netip"
	"testing"
)

func TestReach(t *testing.T) {
	for _, c := range []struct {
		ip   string
		from reach // the least reach that allows it; -1: none
	}{
		{"93.184.216.34", reachPublic}, {"2606:2800:220:1::1", reachPublic},
		{"10.1.2.3", reachPrivate}, {"172.16.0.1", reachPrivate}, {"192.168.1.1", reachPrivate}, {"100.64.0.1", reachPrivate}, {"fd00::1", reachPrivate}, {"::ffff:10.0.0.1", reachPrivate},
		{"127.0.0.1", reachLocal}, {"127.8.8.8", reachLocal}, {"::1", reachLocal}, {"::ffff:127.0.0.1", reachLocal},
		{"169.254.169.254", -1}, {"fe80::1", -1}, {"0.0.0.0", -1}, {"::", -1}, {"224.0.0.1", -1}, {"255.255.255.255", -1}, {"64:ff9b::a00:1", -1}, {"64:ff9b:1::a00:1", -1},
	} {
		for r := reachPublic; r <= reachLocal; r++ {
			if got, want := r.allows(netip.MustParseAddr(c.ip)), c.from >= 0 && r >= c.from; got != want {
				t.Errorf("%s from %d: %v", c.ip, r, got)
			}
		}
	}
}

func TestReachOf(t *testing.T) {
	for resource, want := range map[string]reach{
		"http://localhost:1/mcp": reachLocal, "http://127.0.0.1": reachLocal, "https://[::1]/": reachLocal, "https://10.0.0.1/mcp": reachPrivate,
		"https://192.0.2.1/": reachPublic, "https://localhost.example.invalid/": reachPublic, "https://127.0.0.1.example.invalid/": reachPublic,
	} {
		if got := reachOf(t.Context(), resource); got != want {
			t.Errorf("%s: %d, want %d", resource, got, want)
		}
	}
}
