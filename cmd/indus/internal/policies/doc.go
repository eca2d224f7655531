// Package policies is "indus policy": it checks, explains and tests the policies of "indus serve".
package policies
