//go:build !unix

package chat

// suspend does nothing, because this system has no job control.
func suspend() {}
