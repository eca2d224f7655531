package secret

import (
	"context"
	"fmt"
	"log/slog"
)

// Logger returns a logger that writes to log and masks the secrets.
func (s *Set) Logger(log *slog.Logger) *slog.Logger {
	if s == nil {
		return log
	}
	return slog.New(&handler{log.Handler(), s})
}

type handler struct {
	slog.Handler
	set *Set
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.set.Mask(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attrs([]slog.Attr{a})...)
		return true
	})
	return h.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(list []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(h.attrs(list)), h.set}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.set}
}

// attrs returns a list with masked secrets. A value without secrets stays as it is.
func (h *handler) attrs(list []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(list))
	for i, a := range list {
		v := a.Value.Resolve()
		switch v.Kind() {
		case slog.KindGroup:
			v = slog.GroupValue(h.attrs(v.Group())...)
		case slog.KindString, slog.KindAny:
			text := fmt.Sprint(v.Any())
			if shown := h.set.Mask(text); shown != text {
				v = slog.StringValue(shown)
			}
		}
		out[i] = slog.Attr{Key: a.Key, Value: v}
	}
	return out
}
