package main

import (
	"flag"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary the command indus too, on the PATH of tests. They run the real main, with the race
// detector if it is on, or the program of otherIndus.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // would cost a second for each of 1,300 commands
	os.Setenv("INDUS_KEYCHAIN", "off")       // so that the keychain of the user is not changed
	if signal.Ignored(os.Interrupt) {        // by a shell that runs the tests in the background: programs of tests would inherit it
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	// Most tests wait for other processes most of the time. The flag -parallel replaces this.
	_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	testscript.Main(builtTests{m}, map[string]func(){
		"indus": func() {
			probe()
			command.Main(tree)
		},
		"browser": browser,
		"beats":   beats,
	})
}
