package operation

import (
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/internal/text"
)

// Envelope is the outcome of a call: a value or an Error.
type Envelope struct {
	// ID is the id of the call.
	ID string
	// Value is one JSON value. It is read-only, and nil if Err is set.
	Value json.RawMessage
	// Err is the reason for which there is no value.
	Err *Error
}

// Decode decodes the value into v. If there is no value, it returns Err.
func (e Envelope) Decode(v any) error {
	if e.Err != nil {
		return e.Err
	}
	if err := json.Unmarshal(e.Value, v); err != nil {
		return fmt.Errorf("operation: the value: %w", err)
	}
	return nil
}

// MarshalJSON writes {"id":…,"value":…} or {"id":…,"error":{"code":…}}. If both Value and Err are empty, the value is
// null.
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
