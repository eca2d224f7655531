package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/indusagi/indus/schema/validate"
)

// operation is a registered operation with its state.
type operation struct {
	Registration

	once          sync.Once // guards the fields below
	compileErr    error
	input, output *validate.Validator
	details       map[Code]*validate.Validator

	mu      sync.Mutex
	running int
	removed bool
}

// compile builds the validators once. For a leaf this happens at the first call, because there may be thousands of
// them. For other operations it happens at registration. A schema that cannot be compiled is logged and not checked.
// The error is the first reason.
func (o *operation) compile(log *slog.Logger) error {
	o.once.Do(func() {
		o.input = o.validator("input", o.Spec.Input)
		o.output = o.validator("output", o.Spec.Output)
		o.details = make(map[Code]*validate.Validator)
		for _, d := range o.Spec.Errors {
			o.details[d.Code] = o.validator("details of "+string(d.Code), d.Schema)
		}
		if o.compileErr != nil && log != nil {
			log.Warn("a schema is not checked", slog.String("operation", o.Spec.Name), slog.Any("error", o.compileErr))
		}
	})
	return o.compileErr
}

func (o *operation) validator(role string, raw json.RawMessage) *validate.Validator {
	if raw == nil {
		return nil
	}
	v, err := validate.New(raw)
	if err == nil && v.Faulty() != nil { // its author can correct it
		err = errors.New(v.Faulty()[0])
	}
	if err != nil && o.compileErr == nil {
		o.compileErr = fmt.Errorf("operation: %q: %s schema: %w", o.Spec.Name, role, err)
	}
	return v
}

// entry returns the public description of the operation.
func (o *operation) entry() Entry {
	return Entry{Spec: o.Spec, Provenance: o.Provenance, Owner: o.Owner}
}

// begin counts a call. It returns false if the operation is retired, because its resources may be gone.
func (o *operation) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.removed {
		return false
	}
	o.running++
	return true
}

func (o *operation) end() {
	o.mu.Lock()
	o.running--
	last := o.removed && o.running == 0
	o.mu.Unlock()
	o.release(last)
}

// retire prevents further calls.
func (o *operation) retire() {
	o.mu.Lock()
	o.removed = true
	last := o.running == 0
	o.mu.Unlock()
	o.release(last)
}

func (o *operation) release(last bool) {
	if last && o.Release != nil {
		o.Release()
	}
}
