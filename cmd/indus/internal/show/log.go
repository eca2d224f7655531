package show

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
)

// logFlag is what is logged to stderr: the value of --log-level, and of -v.
type logFlag struct {
	level   *slog.Level // nil: nothing
	verbose bool
}

var logLevels = []string{"debug", "info", "warn", "error", "off"}

func (f *logFlag) Add(root *cobra.Command) {
	root.PersistentFlags().Var(f, "log-level", "what is logged to stderr")
	root.PersistentFlags().BoolVarP(&f.verbose, "verbose", "v", false, "log everything to stderr")
	_ = root.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(logLevels, cobra.ShellCompDirectiveNoFileComp))
}

// Set implements [pflag.Value].
func (f *logFlag) Set(text string) error {
	if text == "off" {
		f.level = nil
		return nil
	}
	f.level = new(slog.Level)
	if f.level.UnmarshalText([]byte(text)) != nil {
		return fmt.Errorf("it is one of %s", strings.Join(logLevels, ", "))
	}
	return nil
}

// Type implements [pflag.Value].
func (*logFlag) Type() string { return "LEVEL" }

// String implements [pflag.Value].
func (f *logFlag) String() string {
	if f.level == nil {
		return "off"
	}
	return f.level.String()
}

// Verbose reports that somebody wants to see all.
func (s Streams) Verbose() bool {
	return s.Log.verbose || s.Log.level != nil && *s.Log.level <= slog.LevelDebug
}

// Logger writes to stderr what the flags ask for.
func (s Streams) Logger() *slog.Logger {
	level := slog.LevelDebug
	switch {
	case s.Log.level != nil:
		level = *s.Log.level
	case !s.Log.verbose:
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: level}))
}
