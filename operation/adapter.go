package operation

import (
	"context"
	"fmt"
)

// Adapter imports operations from another system. Its errors may wrap [DiscoveryFailed] or [Unauthorized].
//
// Implementers return registrations with a [Provenance] of their own and visibility [Internal]. Release of a
// registration closes the resources that it holds. Import may be called several times.
type Adapter interface {
	Import(ctx context.Context) ([]Registration, error)
}

// ImportError is a kind of failure of an [Adapter], for errors.Is: errors.Is(err, operation.Unauthorized).
type ImportError string

// The kinds of ImportError.
const (
	// DiscoveryFailed means that the system cannot be reached, or does not list its operations.
	DiscoveryFailed ImportError = "discovery failed"
	// Unauthorized means that the system requires a credential, or a different one.
	Unauthorized ImportError = "unauthorized"
)

// Error implements error.
func (e ImportError) Error() string { return string(e) }

// Import imports operations from an Adapter and makes them the operations of owner, as [Registry.Replace] does. If that
// fails, the registry is unchanged, and the imported registrations are released.
func (r *Registry) Import(ctx context.Context, owner string, a Adapter) error {
	all, err := a.Import(ctx)
	if err != nil {
		return fmt.Errorf("operation: import %s: %w", owner, err)
	}
	err = r.Replace(owner, all...)
	if err != nil {
		for _, registration := range all {
			if registration.Release != nil {
				registration.Release()
			}
		}
	}
	return err
}
