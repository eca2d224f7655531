package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

type city struct {
	City string `json:"city"`
}

// weather is the tool that the examples call.
var weather = toolbox.Define("weather", "Today's weather in a city.", func(_ context.Context, in city) (string, error) {
	if in.City == "" {
		return "", toolbox.Errorf("weather: city is missing")
	}
	return "rain in " + in.City, nil
})

func Example() {
	local := toolbox.NewRegistry(nil)
	local.Add(weather)
	box := toolbox.NewBox(nil, local)

	for _, d := range box.Descriptors() { // the tools as a model sees them
		fmt.Println(d.Name, string(d.Parameters))
	}
	out := box.Run(context.Background(), toolbox.Call{Name: "weather", Input: json.RawMessage(`{"city":"Ulm"}`)})
	fmt.Println(out.Text())
	// Output:
	// weather {"properties":{"city":{"type":"string"}},"additionalProperties":false,"type":"object","required":["city"]}
	// rain in Ulm
}

func ExampleBox_Run() {
	local := toolbox.NewRegistry(nil)
	local.Add(weather)
	box := toolbox.NewBox(nil, local)

	for _, c := range []toolbox.Call{
		{Name: "weather", Input: json.RawMessage(`"{\"city\":\"Ulm\"}"`)}, // models do that
		{Name: "weather"},
		{Name: "weather", Input: json.RawMessage(`{"town":"Ulm"}`)},
		{Name: "whether"},
	} {
		out := box.Run(context.Background(), c)
		fmt.Println(out.IsError, string(out.Output))
	}
	// Output:
	// false "rain in Ulm"
	// true "the arguments of weather do not fit:\n/: missing required \"city\" (string)"
	// true "the arguments of weather do not fit:\n/: missing required \"city\" (string)\n/: unknown property \"town\""
	// true "no tool named \"whether\" is available"
}

func ExampleBox_Do() {
	local := toolbox.NewRegistry(nil)
	local.Add(weather)
	box := toolbox.NewBox(nil, local)

	r, err := box.Do(context.Background(), toolbox.Call{Name: "weather", Input: json.RawMessage(`{"city":"Ulm"}`)})
	fmt.Println(*r.Blocks()[0].Text, err)

	_, err = box.Do(context.Background(), toolbox.Call{Name: "whether"})
	unknown, ok := errors.AsType[*toolbox.UnknownTool](err)
	fmt.Println(unknown.Name, ok)
	// Output:
	// rain in Ulm <nil>
	// whether true
}

func ExampleBox_Watch() {
	local := toolbox.NewRegistry(nil)
	box := toolbox.NewBox(nil, local)
	stop := box.Watch(func() {
		s := box.Snapshot("")
		fmt.Println("version", s.Version, "has", len(s.Tools))
	})
	defer stop()
	local.Add(weather)
	local.Remove("weather")
	// Output:
	// version 1 has 1
	// version 2 has 0
}

func ExampleNewBox_options() {
	local := toolbox.NewRegistry(nil)
	local.Add(weather)
	count := 0
	box := toolbox.NewBox(&toolbox.BoxOptions{
		Profile: schema.Seed,
		Budget:  1000,
		Around: []func(toolbox.Do) toolbox.Do{
			func(next toolbox.Do) toolbox.Do {
				return func(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
					if count++; count > 1 {
						return toolbox.ErrorResult("one call is enough"), nil
					}
					return next(ctx, c)
				}
			},
		},
	}, local)
	for range 2 {
		fmt.Println(box.Run(context.Background(),
			toolbox.Call{Name: "weather", Input: json.RawMessage(`{"city":"Ulm"}`)}).Text())
	}
	// Output:
	// rain in Ulm
	// one call is enough
}

func ExampleOutcome() {
	local := toolbox.NewRegistry(nil)
	local.Add(toolbox.Tool{Name: "log",
		Run: func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
			return toolbox.NewResult(toolbox.Text(strings.Repeat("begin-", 10) + strings.Repeat("-end", 10))), nil
		}})
	out := toolbox.NewBox(&toolbox.BoxOptions{Budget: 50}, local).Run(context.Background(), toolbox.Call{Name: "log"})
	fmt.Println(out.Text())
	fmt.Println(out.Cut, "bytes fewer than", len(*out.Result.Blocks()[0].Text))
	// Output:
	// begin-begin-be
	// … 73 bytes cut …
	// d-end-end-end
	// 73 bytes fewer than 100
}

func ExampleTool() {
	local := toolbox.NewRegistry(nil)
	local.Add(toolbox.Tool{
		Name:        "progress",
		Description: "Counts to two.",
		Run: func(_ context.Context, tc *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
			for i := range 2 {
				tc.Report(toolbox.Progress{Done: float64(i + 1), Total: 2})
			}
			return toolbox.StructuredResult(json.RawMessage(`{"n":2}`), toolbox.Text("two")), nil
		},
	})
	r, _ := local.Do(context.Background(), toolbox.Call{
		Name:     "progress",
		Progress: func(p toolbox.Progress) { fmt.Println(p.Done, "of", p.Total) },
	})
	fmt.Println(*r.Blocks()[0].Text, string(r.Structured()))
	// Output:
	// 1 of 2
	// 2 of 2
	// two {"n":2}
}

func ExampleTool_Check() {
	fmt.Println(toolbox.Tool{Name: "weather"}.Check())
	// Output: toolbox: tool "weather" has no Run
}

func ExampleRegistry() {
	r := toolbox.NewRegistry(nil)
	r.Add(toolbox.Define("a", "first", returnNothing), toolbox.Define("b", "", returnNothing))
	r.Add(toolbox.Define("a", "second", returnNothing)) // keeps its place
	for _, d := range r.Snapshot("").Tools {
		fmt.Println(d.Name, d.Description)
	}
	// Output:
	// a second
	// b
}

func returnNothing(context.Context, struct{}) (*toolbox.Result, error) { return nil, nil }

func ExampleWireResult() {
	wire := toolbox.Wire{Format: "example", JSON: json.RawMessage(`{"said":"hello"}`)}
	r := toolbox.WireResult(wire, func(w toolbox.Wire) toolbox.Decoded {
		fmt.Println("somebody looks")
		return toolbox.Decoded{Blocks: []toolbox.Block{toolbox.JSON(w.JSON)}}
	})
	fmt.Println(string(r.Wire().JSON))
	fmt.Println(len(r.Blocks()), r.IsError())
	// Output:
	// {"said":"hello"}
	// somebody looks
	// 1 false
}

func ExampleWatchers() {
	var w toolbox.Watchers
	stop := w.Watch(func() { fmt.Println("changed") })
	w.Notify()
	stop()
	w.Notify()
	// Output: changed
}

func ExampleNewContext() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	tc, err := toolbox.NewContext(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	name, err := tc.Path("./a/../b")
	fmt.Println(name, err)
	_, err = tc.Path("../b")
	fmt.Println(err, errors.Is(err, toolbox.ErrOutside))
	// Output:
	// b <nil>
	// open ../b: the path leads outside the directory true
}

func ExampleDirFS() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	files, err := toolbox.DirFS(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(files.WriteFile("a", []byte("hello"), 0o644))
	info, err := files.Stat("a")
	fmt.Println(info.Size(), err)
	_, err = files.Open("../a")
	fmt.Println(err)
	// Output:
	// <nil>
	// 5 <nil>
	// open ../a: the path leads outside the directory
}

func ExampleLocalShell() {
	shell := toolbox.LocalShell("")
	exit, err := shell.Run(context.Background(), toolbox.Command{Line: "echo hello; exit 3", Stdout: os.Stdout})
	fmt.Println(exit, err)
	// Output:
	// hello
	// 3 <nil>
}
