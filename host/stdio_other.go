//go:build !unix

package host

import "os"

// pollable is f itself.
func pollable(f *os.File, _ int) (polled *os.File, restore func()) { return f, func() {} }
