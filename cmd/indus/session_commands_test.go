package main

import (
	"os"
	"path/filepath"

	"github.com/indusagi/indus/internal/testkit/modelserver"
	"github.com/rogpeppe/go-internal/testscript"
)

// startModel starts a scripted model. VAR is its URL, and the file VAR.log gets one JSON object per request.
func startModel(ts *testscript.TestScript, sc *scene, args []string) {
	turns, err := modelserver.Read(ts.MkAbs(args[1]))
	ts.Check(err)
	s := modelserver.New(sc.t, turns...)
	log, err := os.Create(filepath.Join(ts.MkAbs("."), args[0]+".log"))
	ts.Check(err)
	sc.t.Cleanup(func() { log.Close() })
	s.LogTo(log)
	ts.Setenv(args[0], s.URL)
}
