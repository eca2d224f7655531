//go:build !unix

package toolbox

const nonBlocking = 0 // no pipes among the files
