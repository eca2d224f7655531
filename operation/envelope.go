package operation

import (
	"bytes"
	"encoding/json"
	"errors"
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

// UnmarshalJSON reads what MarshalJSON writes: exactly one of value and error. What
// else is there is ignored.
func (e *Envelope) UnmarshalJSON(raw []byte) error {
	var in struct {
		ID    string           `json:"id"`
		Value *json.RawMessage `json:"value"`
		Error *Error           `json:"error"`
	}
	var members map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &in), json.Unmarshal(raw, &members)); err != nil {
		return fmt.Errorf("operation: an envelope: %w", err)
	}
	value, hasValue := members["value"]
	switch {
	case hasValue == (in.Error != nil):
		return errors.New("operation: an envelope has either a value or an error")
	case hasValue:
		*e = Envelope{ID: in.ID, Value: bytes.Clone(value)}
	case in.Error.Code == "":
		return errors.New("operation: an error has a code")
	default:
		*e = Envelope{ID: in.ID, Err: in.Error}
	}
	return nil
}
