package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/interop/config"
)

func TestConnectTime(t *testing.T) {
	const long = 2 * time.Minute
	for line, want := range map[string]time.Duration{
		"npx -y @scope/server":            long,
		"/usr/local/bin/uvx server":       long,
		`C:\nodejs\npx.cmd -y server`:     long,
		"cmd /c npx -y server":            long,
		"env A=b docker run -i --rm name": long,
		"node server.js":                  30 * time.Second,
		"/opt/npx/server":                 30 * time.Second,
	} {
		words := strings.Fields(line)
		s := config.Server{Transport: config.Stdio{Command: words[0], Args: words[1:]}}
		if got := s.ConnectTime(); got != want {
			t.Errorf("%s: %v", line, got)
		}
		for own, want := range map[time.Duration]time.Duration{time.Second: time.Second, -1: 0} {
			s.Timeouts.Connect = own
			if got := s.ConnectTime(); got != want {
				t.Errorf("%s with %v: %v", line, own, got)
			}
		}
	}
	shell := config.Stdio{Command: "sh", Args: []string{"-c", "npx -y server"}}
	if got := (config.Server{Transport: shell}).ConnectTime(); got != long {
		t.Errorf("a command line of a shell: %v", got)
	}
	if got := (config.Server{Transport: config.HTTP{}}).ConnectTime(); got != 30*time.Second {
		t.Errorf("HTTP: %v", got)
	}
}
