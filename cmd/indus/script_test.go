package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what commands print into the files that scripts compare it with")

// TestScripts runs testdata/*.txtar. Configurations name the servers by variables:
//
//	"everything": {"command": "${NODE}", "args": ["${EVERYTHING}", "stdio"]}
//	"fs":         {"command": "${NODE}", "args": ["${FILESYSTEM}", "${WORK}"]}
//	"listed":     {"command": "${FIXTURE}", "args": ["-era", "legacy", "-list-file", "${LISTS}/everything.json"]}
//	"odd":        {"command": "${FIXTURE}", "args": ["-control", "${CONTROL}", "-listerror"]}
//
// The server "listed" is in Go and has the list of the real one, for a script whose subject is not the server.
//
// commands_test.go has the commands of scripts, in addition to testscript's own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup:               setup,
		Cmds:                commands(),
	})
}

// scene is the state that the commands of one script share.
type scene struct {
	t        testing.TB
	name     string
	control  *fixture.Control // the connection to its fixtures
	programs map[string]*program
	guarded  *signInServer // nil until a script starts one
}

func setup(env *testscript.Env) error {
	t := env.T().(testing.TB)
	name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
	sc := &scene{t: t, name: name, control: fixture.NewControl(t), programs: map[string]*program{}}
	env.Values["scene"] = sc
	node, everything := peers.Everything(t, "stdio")
	_, filesystem := peers.Filesystem(t, env.WorkDir)
	lists, err := filepath.Abs("../../schema/testdata/corpus/servers")
	if err != nil {
		return err
	}
	home := filepath.Join(env.WorkDir, "home")
	for variable, value := range map[string]string{
		"HOME":            home,
		"USERPROFILE":     home,
		"XDG_CONFIG_HOME": filepath.Join(home, ".config"),
		"XDG_STATE_HOME":  filepath.Join(home, ".local", "state"),
		"NODE":            node,
		"EVERYTHING":      everything[0],
		"FILESYSTEM":      filesystem[0],
		"FIXTURE":         fixture.Build(t),
		"LISTS":           lists,
		"CONTROL":         sc.control.Addr(),
		"MARK":            newMark(),
		"GORACE":          os.Getenv("GORACE"),
		"INDUS_KEYCHAIN":  "off", // the keychain of the machine is not used
		"BROWSER":         "browser",
		"PATH":            scriptPath(name, env.Getenv("PATH")),
	} {
		env.Setenv(variable, value)
	}
	return nil
}
