//go:build race

package policy_test

// somePolicies is the number of random policies. The race detector needs fewer, because it looks for races and not for
// decisions.
const somePolicies = 300
