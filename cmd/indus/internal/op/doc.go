// Package op is "indus op": the tools of one server as typed operations.
package op
