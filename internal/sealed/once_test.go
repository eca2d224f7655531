package sealed_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/sealed"
)

// opened is a token that expires in so many seconds.
func opened(t *testing.T, seconds int) sealed.Token {
	t.Helper()
	keys := sealed.Random()
	token := sealed.Token{Kind: sealed.Parked, Data: []byte("call")}
	if seconds != 0 {
		token.Expires = start.Add(time.Duration(seconds) * time.Second)
	}
	token, err := keys.Open(keys.Seal(token), sealed.Want{Kind: sealed.Parked, Now: start})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestATokenIsUsedOnce(t *testing.T) {
	once := sealed.NewOnce(2)
	use := func(token sealed.Token, second int, want error) {
		t.Helper()
		if err := once.Use(token, start.Add(time.Duration(second)*time.Second)); !errors.Is(err, want) {
			t.Errorf("second %d: %v, want %v", second, err, want)
		}
	}
	a, b, c, d := opened(t, 10), opened(t, 20), opened(t, 30), opened(t, 15)
	use(a, 0, nil)
	use(a, 0, sealed.ErrUsed)
	use(b, 0, nil)
	use(b, 9, sealed.ErrUsed)
	use(c, 9, nil)               // a must make room,
	use(a, 9, sealed.ErrExpired) // and is not used again for that
	use(d, 9, nil)               // it is itself what expires first,
	use(d, 9, sealed.ErrExpired) // and still is used once
	use(opened(t, 12), 9, sealed.ErrExpired)
	use(b, 21, sealed.ErrUsed) // nothing has come that would have made it forget
	use(opened(t, 40), 21, nil)
	use(b, 21, sealed.ErrExpired)
	use(opened(t, 0), 21, sealed.ErrExpired)
}

func TestOfManyAtOnceOneUsesIt(t *testing.T) {
	once, token := sealed.NewOnce(1), opened(t, 10)
	var used atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if once.Use(token, start) == nil {
				used.Add(1)
			}
		})
	}
	all.Wait()
	if used.Load() != 1 {
		t.Errorf("%d used it", used.Load())
	}
}
