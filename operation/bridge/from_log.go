package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/indusagi/indus/operation"
)

// discreet is a log handler that shows no token, even where a server has repeated it in an
// answer: what is logged of a connection has the server's words in it.
type discreet struct {
	slog.Handler
	token operation.Secret
}

// discreetly is a logger that shows no token.
func discreetly(log *slog.Logger, token operation.Secret) *slog.Logger {
	if token.Reveal() == "" {
		return log
	}
	return slog.New(&discreet{log.Handler(), token})
}

// Handle implements slog.Handler.
func (h *discreet) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, hide(r.Message, h.token), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attrs([]slog.Attr{a})...)
		return true
	})
	return h.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (h *discreet) WithAttrs(list []slog.Attr) slog.Handler {
	return &discreet{h.Handler.WithAttrs(h.attrs(list)), h.token}
}

// WithGroup implements slog.Handler.
func (h *discreet) WithGroup(name string) slog.Handler {
	return &discreet{h.Handler.WithGroup(name), h.token}
}

// attrs is a list without the token. A value that does not tell it stays what it is.
func (h *discreet) attrs(list []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(list))
	for i, a := range list {
		v := a.Value.Resolve()
		switch v.Kind() {
		case slog.KindGroup:
			v = slog.GroupValue(h.attrs(v.Group())...)
		case slog.KindString, slog.KindAny:
			if text := fmt.Sprint(v.Any()); strings.Contains(text, h.token.Reveal()) {
				v = slog.StringValue(hide(text, h.token))
			}
		}
		out[i] = slog.Attr{Key: a.Key, Value: v}
	}
	return out
}
