package modelserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"unicode/utf8"
)

// Turn is the response of the model to one request. In a script it is a JSON object.
type Turn struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"` // before the text
	Calls     []Call `json:"calls,omitempty"`     // after the text
	// Stop is the reason for the end of the message, in the terms of the provider. If it is "", the reason follows from
	// the content.
	Stop  string `json:"stop,omitempty"`
	Usage *Usage `json:"usage,omitempty"` // nil means 100 tokens in, 10 out

	// Status makes the response an HTTP error with a body of the provider that contains Text. With Break, the error is
	// an event in the middle of the stream.
	Status int `json:"status,omitempty"`
	// Code is the code of the error, in the terms of the provider. If it is "", it follows from the status.
	Code       string `json:"code,omitempty"`
	RetryAfter string `json:"retryAfter,omitempty"` // the header of an error
	// Raw is the whole body and replaces the other fields: events of a stream or, with Status, an error.
	Raw string `json:"raw,omitempty"`
	// Break cuts the connection in the middle of the stream.
	Break bool `json:"break,omitempty"`
	// Hang sends no more after text, reasoning and calls, until the client disconnects. If there are none of them, not
	// even a header is sent.
	Hang bool `json:"hang,omitempty"`
}

// Call is a call of a tool.
type Call struct {
	ID    string `json:"id,omitempty"` // "" means a generated id
	Name  string `json:"name"`
	Input string `json:"input"` // JSON, or the invalid JSON of a bad model
}

// UnmarshalJSON also accepts an input that is the value itself instead of a string.
func (c *Call) UnmarshalJSON(b []byte) error {
	var raw struct {
		ID, Name string
		Input    json.RawMessage
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&raw); err != nil {
		return err
	}
	*c = Call{raw.ID, raw.Name, string(raw.Input)}
	if len(raw.Input) > 0 && raw.Input[0] == '"' {
		return json.Unmarshal(raw.Input, &c.Input)
	}
	return nil
}

// Usage counts tokens like agent.Usage: Input counts all of them.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
}

// Read reads a script: a JSON array of turns.
func Read(file string) (turns []Turn, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&turns); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return turns, nil
}

func (t Turn) empty() bool { return t.Text == "" && t.Reasoning == "" && len(t.Calls) == 0 }

func (t Turn) usage() Usage {
	if t.Usage == nil {
		return Usage{Input: 100, Output: 10}
	}
	return *t.Usage
}

func (t Turn) message() string {
	if t.Text == "" {
		return fmt.Sprintf("this is the scripted error %d", t.Status)
	}
	return t.Text
}

// chunks cuts s into chunks with lengths of the Fibonacci numbers. It gives many short chunks, but few chunks for a
// long text.
func chunks(s string) (cut []string) {
	for n, next := 1, 2; s != ""; n, next = min(next, 4096), min(n+next, 4096) {
		at := 0
		for i := 0; i < n && at < len(s); i++ {
			_, size := utf8.DecodeRuneInString(s[at:])
			at += size
		}
		cut, s = append(cut, s[:at]), s[at:]
	}
	return cut
}
