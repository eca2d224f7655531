package operation

import (
	"context"
	"fmt"
)

// Adapter finds operations somewhere else. Its errors are, among others, those that wrap
// [DiscoveryFailed] or [Unauthorized].
//
// Implementers give registrations with a [Provenance] of their own and visibility
// [Internal], and let Release close what they hold. They may be asked several times.
type Adapter interface {
	Import(ctx context.Context) ([]Registration, error)
}

// ImportError is a kind of failure of an [Adapter]: errors.Is(err, operation.Unauthorized).
type ImportError string

// The kinds.
const (
	// DiscoveryFailed: what has the operations cannot be reached or does not list them.
	DiscoveryFailed ImportError = "discovery failed"
	// Unauthorized: it asks for a credential, or for another one.
	Unauthorized ImportError = "unauthorized"
)

// Error implements error.
func (e ImportError) Error() string { return string(e) }

// Import asks an Adapter and makes what it gives the operations of owner, as
// [Registry.Replace] does. Where that fails the registry is as it was, and what the adapter
// gave is released.
func (r *Registry) Import(ctx context.Context, owner string, a Adapter) error {
	all, err := a.Import(ctx)
	if err != nil {
		return fmt.Errorf("operation: import %s: %w", owner, err)
	}
	err = r.Replace(owner, all...)
	if err != nil {
		for _, one := range all {
			if one.Release != nil {
				one.Release()
			}
		}
	}
	return err
}
