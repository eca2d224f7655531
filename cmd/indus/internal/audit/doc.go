// Package audit is "indus audit": the records of requests to "indus serve", and the check that they are unaltered.
package audit
