//go:build !linux

package attack

import (
	"errors"
	"io"

	"github.com/indusagi/indus/internal/box"
)

// scene is empty: there is nothing to attack.
type scene struct{}

func attacks(box.Support) []Attack { return nil }

// Run returns an error: a sandbox needs Linux.
func Run([]string, *box.Box) ([]Result, error) { return nil, errors.New(box.Supported().Missing) }

// Inside does nothing.
func Inside(io.Writer) {}
