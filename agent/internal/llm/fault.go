package llm

import (
	"bytes"
	"encoding/json"
	"html"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/text"
)

// maxWait limits the delay that a server may ask for.
const maxWait = 24 * time.Hour

// InStream converts an error event of a stream to an error.
func InStream(data []byte) *agent.ProviderError {
	e := readFault(data)
	if e.Status == 0 {
		e.Status = statusOf(e.Code)
	}
	if e.Message == "" {
		e.Message = "the answer ended with an error without a reason"
	}
	e.TooLong = tooLong(e)
	return e
}

// statusOf returns the HTTP status that belongs to an error code, or 0 if it is unknown.
func statusOf(code string) int {
	switch code {
	case "invalid_request_error", "context_length_exceeded", "exceed_context_size_error":
		return http.StatusBadRequest
	case "authentication_error", "invalid_api_key":
		return http.StatusUnauthorized
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "rate_limit_error", "rate_limit_exceeded":
		return http.StatusTooManyRequests
	case "api_error", "server_error":
		return http.StatusInternalServerError
	case "overloaded_error":
		return 529
	}
	return 0
}

// readFault reads the body of an error. It is JSON with a shape that depends on the provider, an HTML page, or text.
func readFault(body []byte) *agent.ProviderError {
	e := &agent.ProviderError{}
	e.Code, e.Message, e.Status = parseFault(bytes.TrimSpace(body), 0)
	e.Message = text.Clip(e.Message, maxReason)
	return e
}

// faultBody has the fields that providers use for the parts of an error.
type faultBody struct {
	Error    json.RawMessage
	Message  json.RawMessage
	Detail   json.RawMessage // FastAPI's
	Type     string
	Code     json.RawMessage               // a word, or a status
	Metadata struct{ Raw json.RawMessage } // of OpenRouter: the error of the provider behind it
}

func parseFault(b []byte, depth int) (code, message string, status int) {
	var f faultBody
	var list []json.RawMessage
	var s string
	switch {
	case len(b) == 0 || bytes.Equal(b, []byte("null")):
		return "", "", 0
	case depth > 4 || !json.Valid(b):
		return "", readable(string(b)), 0
	case json.Unmarshal(b, &s) == nil:
		return "", strings.Join(strings.Fields(s), " "), 0
	case json.Unmarshal(b, &list) == nil:
		if len(list) == 0 {
			return "", "", 0
		}
		return parseFault(list[0], depth+1)
	}
	_ = json.Unmarshal(b, &f) // fields of other types are left out
	if len(f.Error) > 1 && f.Error[0] != 'n' {
		code, message, status = parseFault(f.Error, depth+1)
	} else if len(f.Message) > 0 {
		_, message, _ = parseFault(f.Message, depth+1)
	} else {
		message = string(f.Detail)
	}
	if _, upstream, _ := parseFault(f.Metadata.Raw, depth+1); upstream != "" && upstream != message {
		message += ": " + upstream
	}
	var number int
	switch {
	case json.Unmarshal(f.Code, &number) == nil && number >= 400 && number < 600:
		status = number
	case json.Unmarshal(f.Code, &s) == nil && s != "":
		code = s
	}
	if code == "" && f.Type != "error" {
		code = f.Type
	}
	if message == "" {
		message = code
	}
	return code, message, status
}

// readable returns the visible text of an HTML page, or of a text.
func readable(s string) string {
	if strings.Contains(s, "<") {
		title := regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`).FindStringSubmatch(s)
		if title != nil && strings.TrimSpace(title[1]) != "" {
			s = title[1]
		}
		markup := regexp.MustCompile(`(?is)<(script|style|head)\b.*?(</(script|style|head)>|$)|<!--.*?-->|<[^>]*>`)
		s = markup.ReplaceAllString(s, " ")
		s = html.UnescapeString(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// tooLong reports whether the conversation exceeds the model's context. Each server words this error differently.
func tooLong(e *agent.ProviderError) bool {
	switch {
	case e.Status == http.StatusTooManyRequests:
		// OpenAI: the request exceeds the limit per minute, so it can never succeed.
		return strings.Contains(strings.ToLower(e.Message), "request too large")
	case e.Status == http.StatusRequestEntityTooLarge,
		e.Code == "context_length_exceeded", e.Code == "exceed_context_size_error":
		return true
	}
	return regexp.MustCompile(`(?i)(prompt|input|messages?|request).{0,40} too (long|large)` +
		`|context.?(length|window|size|limit)|exceeds? the maximum number of tokens|reduce the length`).MatchString(e.Message)
}

// retryAfter returns the delay that a server asks for, or 0 if there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	for _, header := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		if n, err := strconv.ParseFloat(strings.TrimSpace(h.Get(header.name)), 64); err == nil && n > 0 {
			return time.Duration(math.Min(n*float64(header.unit), float64(maxWait)))
		}
	}
	at, err := http.ParseTime(h.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxWait)
}
