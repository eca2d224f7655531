//go:build linux && !amd64 && !arm64

package box

// filterArch is 0 because there is no table of system calls for this processor.
const filterArch = 0
