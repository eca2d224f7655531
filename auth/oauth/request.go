package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"

	"github.com/indusagi/indus/internal/httpconn"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
)

// networkError is why there is no answer, or no complete answer.
type networkError struct{ error }

// Unwrap returns only the end of the context. Errors of the authorization server's connection must not look like errors
// of the server's connection, which would then be closed with all its requests.
func (e *networkError) Unwrap() error {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(e.error, end) {
			return end
		}
	}
	return nil
}

// readDocument reads a JSON document into v.
func (w *web) readDocument(ctx context.Context, address string, v any) error {
	status, body, err := w.send(ctx, http.MethodGet, address, nil, nil)
	switch {
	case err != nil:
		return err
	case status != http.StatusOK:
		return &statusError{status}
	}
	return decode(body, v)
}

// formType is the media type of forms.
const formType = "application/x-www-form-urlencoded"

// post sends a form or a document. secrets are the values in it that no error may repeat.
func (w *web) post(
	ctx context.Context, address, contentType string, content []byte, header http.Header, secrets []string, v any,
) error {
	all := http.Header{"Content-Type": {contentType}}
	maps.Copy(all, header)
	status, body, err := w.send(ctx, http.MethodPost, address, content, all)
	if v == nil && errors.Is(err, errNoDocument) {
		return nil // the content of the answer to a revocation is ignored (RFC 7009 section 2.2)
	}
	if redirect, ok := errors.AsType[*redirectError](err); ok {
		redirect.to = secret.New(secrets...).Mask(redirect.to)
	}
	if err == nil {
		err = refusal(status, body, secrets)
	}
	if err != nil || v == nil {
		return err
	}
	return decode(body, v)
}

// web sends the requests of a sign-in.
type web struct {
	reach  reach
	client *http.Client
	agent  string // the User-Agent
}

// send sends a request to an allowed address, and reads the whole answer.
func (w *web) send(
	ctx context.Context, method, address string, content []byte, header http.Header,
) (status int, body []byte, err error) {
	if _, err := w.reach.check(address); err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", w.agent)
	res, err := w.client.Do(req)
	if redirect, ok := errors.AsType[*redirectError](err); ok {
		return 0, nil, redirect
	}
	if err != nil {
		return 0, nil, &networkError{httpconn.Reason(err)}
	}
	defer func() { res.Body.Close() }()
	if err := httpconn.Decode(res); err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode/100 != 2: // an error status counts as an answer, even if its body is too long or cut off
		return res.StatusCode, body, nil
	case err != nil:
		return 0, nil, &networkError{err}
	case len(body) > maxBody:
		return 0, nil, fmt.Errorf("the answer is longer than %d bytes", maxBody)
	case kind != "application/json" && len(body) > 0:
		return 0, nil, errNoDocument
	}
	return res.StatusCode, body, nil
}

// decode reads a document into v. Its errors name the field that cannot be read. They never repeat a value, which may
// be a token.
func decode(body []byte, v any) error {
	err := json.Unmarshal(body, v)
	if typeErr, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && typeErr.Field != "" {
		kind, _, _ := strings.Cut(typeErr.Value, " ") // "number 1.5" repeats the value
		field := protocol.Printable(typeErr.Field, maxShown)
		expected := nounOf(typeErr.Type.Kind().String())
		return fmt.Errorf("the answer has %s as %q, where it has to be %s", nounOf(kind), field, expected)
	}
	if err != nil {
		return errNoDocument
	}
	return nil
}

// nounOf returns the name of a kind of JSON value, or of a Go type, with its article.
func nounOf(kind string) string {
	switch kind {
	case "array", "slice":
		return "a list"
	case "bool":
		return "true or false"
	case "object", "struct", "map":
		return "an object"
	case "string", "number":
		return "a " + kind
	}
	return "a whole number"
}
