//go:build !unix

package toolbox

const nonBlocking = 0 // there are no pipes among the files
