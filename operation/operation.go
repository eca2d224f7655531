package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/indusagi/indus/schema/validate"
)

// operation is a registration, ready to be called.
type operation struct {
	Registration

	once          sync.Once // guards what follows
	fault         error
	input, output *validate.Validator
	details       map[Code]*validate.Validator

	mu      sync.Mutex
	running int
	retired bool
}

// compile makes the validators, once: at the first call of a leaf, of which there may
// be thousands, and when it is registered otherwise. What cannot be compiled is
// not checked, which log hears of; the error is the first reason.
func (o *operation) compile(log *slog.Logger) error {
	o.once.Do(func() {
		o.input = o.validator("input", o.Spec.Input)
		o.output = o.validator("output", o.Spec.Output)
		o.details = make(map[Code]*validate.Validator)
		for _, d := range o.Spec.Errors {
			o.details[d.Code] = o.validator("details of "+string(d.Code), d.Schema)
		}
		if o.fault != nil && log != nil {
			log.Warn("a schema is not checked", slog.String("operation", o.Spec.Name), slog.Any("error", o.fault))
		}
	})
	return o.fault
}

func (o *operation) validator(what string, raw json.RawMessage) *validate.Validator {
	if raw == nil {
		return nil
	}
	v, err := validate.New(raw)
	if err == nil && v.Faulty() != nil { // whose author is there to mend it
		err = errors.New(v.Faulty()[0])
	}
	if err != nil && o.fault == nil {
		o.fault = fmt.Errorf("operation: %q: %s schema: %w", o.Spec.Name, what, err)
	}
	return v
}

// entry is what is shown of it.
func (o *operation) entry() Entry {
	return Entry{Spec: o.Spec, Provenance: o.Provenance, Owner: o.Owner}
}

// begin counts a call; false: the operation is retired, and what it holds may be gone.
func (o *operation) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.retired {
		return false
	}
	o.running++
	return true
}

func (o *operation) end() {
	o.mu.Lock()
	o.running--
	last := o.retired && o.running == 0
	o.mu.Unlock()
	o.release(last)
}

// retire lets no further call begin.
func (o *operation) retire() {
	o.mu.Lock()
	o.retired = true
	last := o.running == 0
	o.mu.Unlock()
	o.release(last)
}

func (o *operation) release(last bool) {
	if last && o.Release != nil {
		o.Release()
	}
}
