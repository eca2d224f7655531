package session

import (
	"context"
	"errors"

	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// converse is "indus" on a terminal.
func converse(ctx context.Context, f *flags, s show.Streams) error {
	return errors.New("a conversation is not there yet: give the prompt with -p")
}
