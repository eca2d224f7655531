// Package bench holds the benchmarks that cross packages: the same work through
// the bridge and on the bare SDK, in one run.
//
//	make bench > new.txt && benchstat new.txt
package bench
