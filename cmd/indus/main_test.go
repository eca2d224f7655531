package main

import (
	"os"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary the command indus too, on the PATH of scripts
// and tests alike: they run the real main, race detector and all.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // a second for each of 150 commands
	os.Setenv("INDUS_KEYCHAIN", "off")       // the keychain of whoever runs the tests is left alone
	testscript.Main(m, map[string]func(){
		"indus": func() {
			probe()
			command.Main(tree)
		},
		"browser": browser,
	})
}
