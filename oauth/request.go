package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
)

// statusError is an answer that is none of what was asked for.
type statusError struct{ status int }

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.status, http.StatusText(e.status)))
}

// errNoDocument is a 2xx without JSON: pages of the web answer to every path.
var errNoDocument = errors.New("the answer is no JSON document")

// isAbsent reports that there is no document, and that another place may have it.
func isAbsent(err error) bool {
	var status *statusError
	return errors.Is(err, errNoDocument) || errors.As(err, &status) && status.status/100 == 4
}

// networkError is why there is no answer, or not all of it.
type networkError struct{ error }

// Unwrap is the end of the context and nothing else: that another server refuses connections, or hangs up, is
// not to be taken for what this one does, whose connection with all that is under way would end by it.
func (e *networkError) Unwrap() error {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(e.error, end) {
			return end
		}
	}
	return nil
}

// document reads a JSON document into v.
func (w *web) document(ctx context.Context, address string, v any) error {
	if _, err := w.reach.check(address); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	status, body, err := w.do(req)
	switch {
	case err != nil:
		return err
	case status != http.StatusOK:
		return &statusError{status}
	}
	return decode(body, v)
}

// post sends a form or a document; secrets are the values in it that no error may repeat.
func (w *web) post(ctx context.Context, address, contentType string, content []byte, header http.Header, secrets []string, v any) error {
	if _, err := w.reach.check(address); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(content))
	if err != nil {
		return err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", contentType)
	status, body, err := w.do(req)
	switch {
	case err != nil:
		return err
	case status/100 != 2:
		return refusal(status, body, secrets)
	case v == nil:
		return nil
	}
	return decode(body, v)
}

// web sends the requests that a sign-in consists of.
type web struct {
	reach  reach
	client *http.Client
}

// do reads an answer whole.
func (w *web) do(req *http.Request) (status int, body []byte, err error) {
	req.Header.Set("Accept", "application/json")
	res, err := w.client.Do(req)
	if err != nil {
		if where, ok := errors.AsType[*url.Error](err); ok { // which repeats the address
			err = where.Err
		}
		return 0, nil, &networkError{err}
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(res.Body, maxBody+1)); err != nil {
		return 0, nil, &networkError{err}
	}
	if len(body) > maxBody {
		return 0, nil, fmt.Errorf("the answer is longer than %d bytes", maxBody)
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); res.StatusCode/100 == 2 && kind != "application/json" && len(body) > 0 {
		return 0, nil, errNoDocument
	}
	return res.StatusCode, body, nil
}

// decode does not repeat what it cannot read: it may be a token.
func decode(body []byte, v any) error {
	if json.Unmarshal(body, v) != nil {
		return errNoDocument
	}
	return nil
}

// refusal is an answer of RFC 6749 section 5.2, or whatever else was said.
func refusal(status int, body []byte, secrets []string) error {
	var said struct {
		Error       any    `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(body, &said)
	code, _ := said.Error.(string)
	if code == "" && said.Description == "" {
		return &statusError{status}
	}
	return newServerError(status, code, said.Description, secrets)
}

func newServerError(status int, code, description string, secrets []string) *ServerError {
	mask := secret.New(secrets...)
	shown := func(s string) string { return protocol.Printable(mask.Mask(s[:min(len(s), 8*maxShown)]), maxShown) }
	return &ServerError{Code: shown(code), Description: shown(description), Status: status}
}
