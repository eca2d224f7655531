//go:build linux && !amd64

package attack

import "errors"

// legacyCall returns an error: the processor has no second interface that Go can use.
func legacyCall() error { return errors.New("there is no such interface") }
