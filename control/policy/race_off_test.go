//go:build !race

package policy_test

// somePolicies is the number of random policies without INDUS_SOAK.
const somePolicies = 1_000
