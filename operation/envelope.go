package operation

import (
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/internal/text"
)

// Envelope is how a call ended: with a value, or with an Error.
type Envelope struct {
	// ID is the call's.
	ID string
	// Value is one JSON value, read-only; nil where Err is set.
	Value json.RawMessage
	// Err is why there is no value.
	Err *Error
}

// Decode reads the value into v. The error is Err where there is no value.
func (e Envelope) Decode(v any) error {
	if e.Err != nil {
		return e.Err
	}
	if err := json.Unmarshal(e.Value, v); err != nil {
		return fmt.Errorf("operation: the value: %w", err)
	}
	return nil
}

// MarshalJSON writes {"id":…,"value":…} or {"id":…,"error":{"code":…}}. An Envelope with
// neither has the value null.
func (e Envelope) MarshalJSON() ([]byte, error) {
	if e.Err != nil {
		return text.JSON(struct {
			ID    string `json:"id,omitempty"`
			Error *Error `json:"error"`
		}{e.ID, e.Err})
	}
	return text.JSON(struct {
		ID    string          `json:"id,omitempty"`
		Value json.RawMessage `json:"value"`
	}{e.ID, e.Value})
}
