package publicaddr_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/indusagi/indus/internal/publicaddr"
)

func TestRefusal(t *testing.T) {
	for _, public := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "128.0.0.1", "169.253.255.255", "172.15.255.255", "172.32.0.0",
		"192.0.1.0", "192.167.0.1", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2001:200::1", "2606:4700::1111", "2a00:1450::1", "2003::1", "3ffe::1", "::ffff:8.8.8.8",
	} {
		if reason := publicaddr.Refusal(netip.MustParseAddr(public)); reason != "" {
			t.Errorf("%s is %s", public, reason)
		}
	}
	for _, other := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255", "127.0.0.1", "127.255.255.255",
		"168.63.129.16", "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1",
		"192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
		"240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::a00:1", "100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:1ff::1", "2001:db8::1",
		"2002:7f00:1::", "2002:a00:1::1", "3fff::1", "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fdff::1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1",
		"ff02::1", "ff0e::1",
	} {
		if publicaddr.Refusal(netip.MustParseAddr(other)) == "" {
			t.Errorf("%s is public", other)
		}
	}
}

// TestRefusalOfNeighbours checks that each address of this machine is refused.
func TestRefusalOfNeighbours(t *testing.T) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		if at, ok := netip.AddrFromSlice(addr.(*net.IPNet).IP); ok && publicaddr.Refusal(at) == "" {
			t.Errorf("%v is public", at)
		}
	}
}
