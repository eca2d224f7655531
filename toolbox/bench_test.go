package toolbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// thousandTools returns a box with 1,000 tools of ten sources, and a source to change.
func thousandTools() (*toolbox.Box, *toolbox.Registry) {
	var sources []toolbox.Source
	for s := range 10 {
		var tools []toolbox.Tool
		for i := range 100 {
			tool := textTool(fmt.Sprintf("s%d__t%d", s, i), "")
			tool.Schema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"where"},"depth":{"type":"integer"}},"required":["path"]}`)
			tools = append(tools, tool)
		}
		sources = append(sources, registry(tools...))
	}
	return toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.Seed}, sources...), sources[0].(*toolbox.Registry)
}

func BenchmarkBoxDo(b *testing.B) {
	box, _ := thousandTools()
	for _, p := range []toolbox.Principal{"", "ann"} {
		b.Run("caller="+string(p), func(b *testing.B) {
			b.ReportAllocs()
			call := toolbox.Call{Name: "s9__t99", Caller: p}
			for b.Loop() {
				if _, err := box.Do(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBoxDoAlone measures the cost of the box for a call. Its source does nothing.
func BenchmarkBoxDoAlone(b *testing.B) {
	all := &toolbox.Snapshot{Version: 1}
	for i := range 1000 {
		all.Tools = append(all.Tools, plainDescriptor(fmt.Sprint("t", i)))
	}
	r := toolbox.NewResult()
	box := toolbox.NewBox(nil, newFleet(all,
		func(context.Context, toolbox.Call) (*toolbox.Result, error) { return r, nil }))
	b.ReportAllocs()
	ctx, call := b.Context(), toolbox.Call{Name: "t999"}
	for b.Loop() {
		if _, err := box.Do(ctx, call); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBoxDoParallel(b *testing.B) {
	box, _ := thousandTools()
	call := toolbox.Call{Name: "s9__t99"}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, _ = box.Do(b.Context(), call)
		}
	})
}

func BenchmarkBoxSnapshot(b *testing.B) {
	box, _ := thousandTools()
	b.ReportAllocs()
	for b.Loop() {
		box.Snapshot("")
	}
}

// BenchmarkBoxFirstLook measures the adaptation of 1,000 tools for models.
func BenchmarkBoxFirstLook(b *testing.B) {
	all := &toolbox.Snapshot{Version: 1}
	for i := range 1000 {
		d := plainDescriptor(fmt.Sprint("t", i))
		d.Schema = json.RawMessage(awkwardSchema)
		all.Tools = append(all.Tools, d)
	}
	source := newFleet(all, nil)
	for _, p := range []*schema.Profile{schema.Original, schema.Seed, schema.Universal} {
		b.Run(p.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				toolbox.NewBox(&toolbox.BoxOptions{Profile: p}, source).Snapshot("")
			}
		})
	}
}

// BenchmarkBoxMerge measures the cost of one changed tool among a thousand.
func BenchmarkBoxMerge(b *testing.B) {
	box, first := thousandTools()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		tool := textTool("s0__t0", "")
		tool.Description = fmt.Sprint(i)
		first.Add(tool)
		box.Snapshot("")
	}
}

func BenchmarkBoxDescriptors(b *testing.B) {
	box, _ := thousandTools()
	b.ReportAllocs()
	for b.Loop() {
		box.Descriptors()
	}
}

func BenchmarkBoxRun(b *testing.B) {
	box, _ := thousandTools()
	b.ReportAllocs()
	call := toolbox.Call{Name: "s9__t99", Input: json.RawMessage(`{"path":"."}`)}
	for b.Loop() {
		box.Run(b.Context(), call)
	}
}
