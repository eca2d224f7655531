package show

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
	"github.com/spf13/cobra"
)

// logFlag holds the value of --log-level, and of -v.
type logFlag struct {
	level   slog.Level
	verbose bool
}

// logOff is a level above the level of every record.
const logOff = slog.Level(math.MaxInt)

var logLevels = []string{"debug", "info", "warn", "error", "off"}

func (f *logFlag) Add(root *cobra.Command) {
	root.PersistentFlags().Var(f, "log-level", "what is logged to stderr")
	root.PersistentFlags().BoolVarP(&f.verbose, "verbose", "v", false, "log everything to stderr")
	_ = root.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(logLevels, cobra.ShellCompDirectiveNoFileComp))
}

// Level implements [slog.Leveler].
func (f *logFlag) Level() slog.Level {
	if f.level == logOff && f.verbose {
		return slog.LevelDebug
	}
	return f.level
}

// Set implements [pflag.Value].
func (f *logFlag) Set(text string) error {
	if text == "off" {
		f.level = logOff
		return nil
	}
	if f.level.UnmarshalText([]byte(text)) != nil {
		return fmt.Errorf("it is one of %s", strings.Join(logLevels, ", "))
	}
	return nil
}

// Type implements [pflag.Value].
func (*logFlag) Type() string { return "LEVEL" }

// String implements [pflag.Value].
func (f *logFlag) String() string {
	if f.level == logOff {
		return "off"
	}
	return f.level.String()
}

// Verbose reports whether the flags ask for all log records.
func (s Streams) Verbose() bool { return s.Log.verbose || s.Log.level <= slog.LevelDebug }

// Logger returns a logger that writes to stderr. It reads the level of the flags at each record.
func (s Streams) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(maskedWriter{s}, &slog.HandlerOptions{Level: &s.Log}))
}

// Reports returns a logger that reports warnings and errors on stderr at every --log-level, because they are for the
// operator.
func (s Streams) Reports() *slog.Logger { return slog.New(reports{s}) }

type reports struct{ s Streams }

func (r reports) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (r reports) Handle(_ context.Context, record slog.Record) error {
	text := record.Message
	record.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf("; %s: %v", a.Key, a.Value)
		return true
	})
	r.s.Reportf("%s", text)
	return nil
}

func (r reports) WithAttrs([]slog.Attr) slog.Handler { return r }
func (r reports) WithGroup(string) slog.Handler      { return r }

// LogAll makes [Streams.Logger] the logger of the whole process, so that the packages slog and log write to it. The
// package net/http logs unrequested responses of servers through log, and they may contain credentials.
func (s Streams) LogAll() {
	slog.SetDefault(s.Logger())
	slog.SetLogLoggerLevel(slog.LevelWarn)
}

// maxLearned bounds the masked credentials that were learned at run time. A gateway has one for each signed-in caller.
const maxLearned = 256

// masker holds the values that logs and files of this process must not contain.
type masker struct {
	learned *secret.Set

	mu    sync.Mutex
	masks []func(json.RawMessage) json.RawMessage
}

// Hide replaces the functions that [Streams.Masked] applies.
func (m *masker) Hide(masks []func(json.RawMessage) json.RawMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.masks = slices.Clone(masks)
}

// Learn adds a credential to the masked values. The last 256 are kept.
func (m *masker) Learn(credential secret.Value) { m.learned.Learn(credential.Reveal()) }

// Masked returns a JSON document without the values to hide, and without values that look like a credential. Nothing
// else is hidden.
func (m *masker) Masked(doc json.RawMessage) json.RawMessage {
	m.mu.Lock()
	masks := m.masks
	m.mu.Unlock()
	for _, mask := range masks {
		doc = mask(doc)
	}
	return secret.MaskLikely(m.learned.JSON(doc))
}

// maskedWriter masks text and writes it to stderr.
type maskedWriter struct{ s Streams }

// Write implements [io.Writer].
func (w maskedWriter) Write(b []byte) (int, error) {
	text, _ := wire.Unquote(w.s.Masked(wire.Quote(string(b))))
	if _, err := w.s.Err.Write([]byte(text)); err != nil {
		return 0, err
	}
	return len(b), nil
}
