package oauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
)

// The answers of authorization servers, and what follows from each. An answer occurs in the redirect of a browser, and in
// the response to a code, a refresh token, client credentials, an exchange or a revocation.
//
//	answer                                     is            the sign-in                              the registration
//	2xx with "error", 4xx but 408 and 429      refused       ends with its access token               stays
//	... invalid_client, unauthorized_client    refused       ends with its access token               is discarded
//	no answer, 408, 429, 5xx, 3xx, no JSON     unreachable   stays; discovery is read again           stays
//	404, 405, 410 without "error"              refused       discovery is read again, then as above   stays
//
// A registration is discarded only if this program made it. It is discarded as well by a sign-out, and if a person who
// signs in with a registration of before never comes back: the authorization server may have shown them an error.
// A refresh token is kept when it is refused. It is tried again after [refusedTime].

// statusError is an HTTP status without an OAuth error.
type statusError struct{ status int }

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.status, http.StatusText(e.status)))
}

// errNoDocument is a 2xx without JSON: pages of the web answer to every path.
var errNoDocument = errors.New("the answer is no JSON document")

// isAbsent reports that there is no document, and that another place may have it.
func isAbsent(err error) bool {
	return errors.Is(err, errNoDocument) || statusOf(err)/100 == 4
}

// statusOf is the HTTP status of an answer without an OAuth error; 0 of other errors.
func statusOf(err error) int {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.status
	}
	return 0
}

// isRefused reports an answer by which an authorization server refuses what it was asked.
func isRefused(err error) bool {
	status := statusOf(err)
	if refused, ok := errors.AsType[*ServerError](err); ok {
		if status = refused.Status; status/100 == 2 || status == 0 {
			return true
		}
	}
	return status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests
}

// isUnreachable reports that there is no answer, or one that says nothing of what was asked.
func isUnreachable(err error) bool {
	_, silent := errors.AsType[*networkError](err)
	_, status := errors.AsType[*statusError](err)
	_, server := errors.AsType[*ServerError](err)
	return silent || (status || server) && !isRefused(err)
}

// mayHaveMoved reports an answer after which the metadata may name another token endpoint.
func mayHaveMoved(err error) bool {
	switch statusOf(err) {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		return true
	}
	return err != nil && !isRefused(err)
}

// isDiscarded reports an answer by which an authorization server no longer knows the registration.
func (i identity) isDiscarded(err error) bool {
	refused, ok := errors.AsType[*ServerError](err)
	return ok && i.Dynamic && (refused.Code == "invalid_client" || refused.Code == "unauthorized_client")
}

// refusal is the error in an answer: that of RFC 6749 section 5.2, which some send with status 200, or the status.
func refusal(status int, body []byte, secrets []string) error {
	var said struct {
		Error       any `json:"error"`
		Description any `json:"error_description"`
	}
	_ = json.Unmarshal(body, &said)
	code, _ := said.Error.(string)
	description, _ := said.Description.(string)
	switch {
	case status/100 == 2 && code == "":
		return nil
	case code == "" && description == "":
		return &statusError{status}
	}
	return newServerError(status, code, description, secrets)
}

func newServerError(status int, code, description string, secrets []string) *ServerError {
	mask := secret.New(secrets...)
	shown := func(s string) string { return protocol.Printable(mask.Mask(s[:min(len(s), 8*maxShown)]), maxShown) }
	return &ServerError{Code: shown(code), Description: shown(description), Status: status}
}
