//go:build !race

package policy_test

// somePolicies is the number of random policies.
const somePolicies = 10_000
