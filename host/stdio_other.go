//go:build !unix

package host

import "os"

// pollable returns f itself.
func pollable(f *os.File, _ int) (polled *os.File, restore func()) { return f, func() {} }
