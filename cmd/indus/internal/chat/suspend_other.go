//go:build !unix

package chat

// suspend does nothing: there is no job control.
func suspend() {}
