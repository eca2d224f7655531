package interop

import (
	"math/rand/v2"
	"time"
)

// backoff is a pause that doubles, up to a cap.
type backoff struct{ first, max, pause time.Duration }

func newBackoff(r Restart) *backoff { return &backoff{r.First, r.Max, r.First} }

func (b *backoff) reset() { b.pause = b.first }

// next is the pause to make now: shorter by up to a half, so that many who lost
// the same peer do not come back at the same moment.
func (b *backoff) next() time.Duration {
	d := b.pause
	b.pause = min(2*b.pause, b.max)
	return d - rand.N(d/2+1)
}
