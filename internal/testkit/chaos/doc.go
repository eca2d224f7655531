// Package chaos attacks package cluster and the state that it carries. It has tests alone, and is a module of its own,
// because users need no checker of histories.
//
// Many goroutines use one engine while its servers are killed, paused and separated. Then porcupine checks that the
// recorded history is linearizable. A schedule of faults has a seed:
//
//	go test -run Chaos -args -for 10m -seed 7
package chaos
