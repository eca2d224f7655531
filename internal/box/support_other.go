//go:build !linux

package box

import "runtime"

// Supported returns the parts of a sandbox that this system can enforce: none.
func Supported() Support {
	return Support{Missing: "a sandbox needs Linux, and this system is " + systemName()}
}

// systemName returns the name of this system as people write it.
func systemName() string {
	switch runtime.GOOS {
	case "darwin":
		return "macOS"
	case "windows":
		return "Windows"
	}
	return runtime.GOOS
}

// kernel is empty: no other system is emulated.
type kernel struct{}
