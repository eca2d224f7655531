package standard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/toolbox"
)

// project returns a box with tools over a small project, and a function that removes the project.
func project(tools ...toolbox.Tool) (*toolbox.Box, func()) {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		panic(err)
	}
	for name, text := range map[string]string{
		"README.md":   "# Weather\n\nTells of rain.\n",
		"main.go":     "package main\n\nfunc main() { rain() }\n",
		"rain.go":     "package main\n\n// rain falls.\nfunc rain() {}\n",
		"docs/use.md": "Call rain.\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
	tc, err := toolbox.NewContext(dir)
	if err != nil {
		panic(err)
	}
	r := toolbox.NewRegistry(tc)
	r.Add(tools...)
	return toolbox.NewBox(nil, r), func() { os.RemoveAll(dir) }
}

func show(box *toolbox.Box, name, input string) {
	fmt.Println(box.Run(context.Background(), toolbox.Call{Name: name, Input: json.RawMessage(input)}).Text())
}

func ExampleDeck_Tools() {
	deck := standard.New(nil)
	defer deck.Close()
	for _, t := range deck.Tools() {
		fmt.Println(t.Name)
	}
	// Output:
	// read
	// ls
	// grep
	// find
	// write
	// edit
	// bash
	// process
	// todo
	// webfetch
}

func ExampleReadOnly() {
	box, remove := project(standard.ReadOnly()...)
	defer remove()
	show(box, "read", `{"path":"README.md","limit":1}`)
	show(box, "read", `{"path":"readme.md"}`)
	show(box, "read", `{"path":"../secret"}`)
	// Output:
	// 1	# Weather
	// (lines 1 to 1 of 3; go on with offset 2)
	// read: readme.md does not exist; did you mean README.md?
	// read: ../secret: the path leads outside the directory
}

func ExampleRead() {
	box, remove := project(standard.Read())
	defer remove()
	show(box, "read", `{"path":"rain.go","offset":3}`)
	// Output:
	// 3	// rain falls.
	// 4	func rain() {}
	// (lines 3 to 4 of 4)
}

func ExampleWrite() {
	box, remove := project(standard.Read(), standard.Write())
	defer remove()
	show(box, "write", `{"path":"docs/new.md","content":"# New\n"}`)
	show(box, "write", `{"path":"README.md","content":"# Rain\n"}`)
	show(box, "read", `{"path":"README.md","limit":1}`)
	show(box, "write", `{"path":"README.md","content":"# Rain\n"}`)
	// Output:
	// docs/new.md is new: 1 line, 6 bytes
	// write: README.md was not read before: read it, then change it
	// 1	# Weather
	// (lines 1 to 1 of 3; go on with offset 2)
	// --- README.md
	// +++ README.md
	// @@ -1,3 +1,1 @@
	// -# Weather
	// -
	// -Tells of rain.
	// +# Rain
}

func ExampleEdit() {
	box, remove := project(standard.Read(), standard.Edit())
	defer remove()
	show(box, "read", `{"path":"rain.go","limit":1}`)
	show(box, "edit", `{"path":"rain.go","old":"rain","new":"snow"}`)
	show(box, "read", `{"path":"docs/use.md"}`)
	show(box, "edit", `{"path":"docs/use.md","old":"Call","new":"Wait for"}`)
	// Output:
	// 1	package main
	// (lines 1 to 1 of 4; go on with offset 2)
	// edit: old is in rain.go at lines 3 and 4: give more of the lines around the one that is meant, or pass all
	// 1	Call rain.
	// --- docs/use.md
	// +++ docs/use.md
	// @@ -1,1 +1,1 @@
	// -Call rain.
	// +Wait for rain.
}

func ExampleLs() {
	box, remove := project(standard.Ls())
	defer remove()
	show(box, "ls", `{}`)
	// Output:
	// docs/
	// README.md	26
	// main.go	37
	// rain.go	44
}

func ExampleGrep() {
	box, remove := project(standard.Grep())
	defer remove()
	show(box, "grep", `{"pattern":"rain\\(","glob":"*.go","context":1}`)
	// Output:
	// main.go
	// 2-
	// 3:func main() { rain() }
	//
	// rain.go
	// 3-// rain falls.
	// 4:func rain() {}
}

func ExampleFind() {
	box, remove := project(standard.Find())
	defer remove()
	show(box, "find", `{"pattern":"*.md"}`)
	show(box, "find", `{"pattern":"docs/**"}`)
	// Output:
	// README.md
	// docs/use.md
	// docs/
	// docs/use.md
}

func ExampleBash() {
	box, remove := project(standard.Bash())
	defer remove()
	show(box, "bash", `{"command":"ls *.go; exit 3"}`)
	// Output:
	// main.go
	// rain.go
	// (exit status 3)
}

func ExampleNew() {
	deck := standard.New(nil)
	defer deck.Close()
	box, remove := project(deck.Tools()...)
	defer remove()
	show(box, "todo", `{"tasks":[{"text":"Read rain.go","status":"done"},{"text":"Mend it","status":"in_progress"}]}`)
	show(box, "webfetch", `{"url":"http://127.0.0.1/"}`)
	// Output:
	// [x] Read rain.go
	// [>] Mend it
	// (1 of 2 done)
	// webfetch: http://127.0.0.1/: 127.0.0.1 is a loopback address: only public addresses are fetched
}

func ExampleHarmless() {
	for _, c := range []toolbox.Call{
		{Name: "read", Input: json.RawMessage(`{"path":"main.go"}`)},
		{Name: "bash", Input: json.RawMessage(`{"command":"ls"}`)},
	} {
		fmt.Println(c.Name, standard.Harmless(c))
	}
	// Output:
	// read true
	// bash false
}
