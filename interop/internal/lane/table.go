package lane

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/toolbox"
)

const (
	// maxLanes bounds the lanes of one server, each of which may be a process. maxCallerLanes bounds the lanes of one
	// principal, so that one principal cannot use up all lanes.
	maxLanes       = 256
	maxCallerLanes = 64
	// firstLanePause is the first pause after a lane could not be opened; see [Table.NextPause].
	firstLanePause = time.Second
	// maxHungPause is the longest of these pauses for a server that hangs.
	maxHungPause = time.Hour
	// FailureRetry is how long a principal's failed connection is not tried again.
	FailureRetry = time.Second
)

// ErrClosed is returned for a request that comes after [Table.Close].
var ErrClosed = errors.New("not connected: the server was taken out or replaced")

// Conn is the connection of a lane.
type Conn interface {
	// Ended reports whether the connection has ended.
	Ended() bool
	// Unreplied reports whether a request on it ended without a reply, so that a question of it may still arrive.
	Unreplied() bool
	// AwaitsAnswer reports whether its server waits for an answer.
	AwaitsAnswer() bool
	// Close ends the connection.
	Close()
}

// Options configures a table. All functions must be set, and IdleTime must not call the table.
type Options struct {
	MaxExclusive  int                                  // requests of one key that use a lane alone
	MaxPrincipals func() int                           // principals with a lane of their own
	Wait          func() time.Duration                 // how long a request waits for a lane
	Waits         func(context.Context) (ended func()) // called at the start of a wait
	IdleTime      func(k Key, held bool) time.Duration // how long a lane stays open unused; negative: without bound
}

// Lane is an extra connection to a server. A lane serves the calls of all principals (Pool.Instances), serves one
// principal (PerPrincipal), or declares one client's capabilities to a legacy server. Capabilities are declared once,
// in initialize. The fleet's own connection, which all share, declares nothing.
//
// A lane of a session serves all its requests. The clients of one principal without a session may be several programs,
// and over stdio a question does not name its request. So a request that is known to ask has a lane alone, and the
// others share one (see [Habits]). A lane serves no other request after a request on it ended without a reply. A late
// question of its server would otherwise seem to belong to the next request.
type Lane struct {
	key   Key
	start sync.Once

	// The fields below are guarded by [Table].mu.
	conn             Conn // nil before start
	users            int
	exclusive        bool        // its request does not share it
	questionRequests int         // of a principal's lane: requests that are known to ask
	askerSession     string      // the session of these requests; "" if it is one request without a session
	retired          bool        // it is closed to new requests
	idleTimer        *time.Timer // closes the lane; nil if it is in use, or retired
	level            string      // see [Table.SetLevel]
	failed           time.Time   // when a principal's lane could not be opened; zero if that did not happen
	// sessions holds the live sessions that use the connection, because the server may hold state for them. Each value is
	// the function that ends the watch of the session's life.
	sessions map[string]func() bool
}

// Key returns the key of the lane.
func (o *Lane) Key() Key { return o.key }

// Key selects the requests that a lane serves.
type Key struct {
	Kind         Kind
	Caller       toolbox.Principal
	Session      string // "" if there is none
	Capabilities string
}

// Kind is the purpose of a lane.
type Kind byte

const (
	ForQuestions Kind = iota // serves a client that can be asked
	ForPrincipal             // serves one principal alone
	ForInstance              // serves calls while the first process of a pool is busy
	kindCount
)

// Table holds the lanes of one server.
type Table struct {
	Options
	closing sync.WaitGroup // connections that are closing, and timers

	mu       sync.Mutex
	base     Lane    // the server's first connection: only its users count
	all      []*Lane // the lane that was used last is the last
	closed   bool
	retryAt  [kindCount]time.Time // no lane of the kind is tried before this time
	failures [kindCount]int       // failed attempts to open a lane, in a row
	hangs    [kindCount]int       // attempts that hung, in a row
	freed    watch.Wake           // of requests that wait for a lane
}

// IsBase reports whether o is the server's first connection, which is no lane.
func (l *Table) IsBase(o *Lane) bool { return o == &l.base }

// isShared reports whether a lane serves any number of requests of any kind at a time.
func (k Key) isShared() bool { return k.Kind != ForQuestions || k.Session != "" }

// hasUnreplied reports whether a lane serves no other request because a request ended without a reply. Call it with
// [Table].mu held.
func (o *Lane) hasUnreplied() bool {
	return !o.key.isShared() && o.conn != nil && o.conn.Unreplied()
}

// hasEnded reports whether a lane's connection has ended, and its failure need not be remembered any more. Call it with
// [Table].mu held.
func (o *Lane) hasEnded() bool {
	return o.conn != nil && o.conn.Ended() && time.Since(o.failed) >= FailureRetry
}

// Enter takes a lane. If all permitted lanes are in use, it waits for one. Release must follow.
func (l *Table) Enter(ctx context.Context, key Key, use Sharing) (taken *Lane, err error) {
	err = l.await(ctx, func() (freed <-chan struct{}, err error) {
		taken, freed, err = l.tryTake(key, use)
		return freed, err
	})
	return taken, err
}

// await calls try until try returns no channel. Between calls it waits until that channel is closed. It waits at most
// the queue time of a request, and then returns the error of try.
func (l *Table) await(ctx context.Context, try func() (freed <-chan struct{}, err error)) error {
	var late <-chan time.Time
	for {
		freed, err := try()
		if freed == nil {
			return err
		}
		if late == nil {
			late = time.After(l.Wait())
			defer l.Waits(ctx)()
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return err
		}
	}
}

// tryTake returns a lane, or a channel that is closed when one may be free. The error is for a request that does not
// wait so long.
func (l *Table) tryTake(key Key, use Sharing) (_ *Lane, freed <-chan struct{}, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, ErrClosed
	}
	var free, shared *Lane // the lane that was used last
	exclusive, callers, sameKind := 0, 0, 0
	for _, o := range slices.Backward(slices.Clone(l.all)) {
		switch {
		case o.key.Kind != key.Kind:
			continue
		case o.hasEnded(), o.hasUnreplied():
			l.retire(o)
			if o.users == 0 {
				continue
			}
		case o.retired:
		case o.key == key && key.isShared(), key.Kind == ForPrincipal && o.key.Caller == key.Caller:
			l.addUser(o)
			return o, nil, nil
		case o.key != key:
		case o.users == 0:
			free = cmp.Or(free, o)
		case !o.exclusive:
			shared = cmp.Or(shared, o)
		case o.conn == nil || !o.conn.AwaitsAnswer(): // otherwise it waits for a person
			exclusive++
		}
		sameKind++
		if o.key.Caller == key.Caller {
			callers++
		}
	}
	if use == TrialUse && free == nil && shared != nil && exclusive > 0 {
		use = SharedUse
	}
	if use == SharedUse {
		free = cmp.Or(shared, free)
	}
	if free != nil {
		free.exclusive = use != SharedUse
		l.addUser(free)
		return free, nil, nil
	}
	if key.Kind == ForPrincipal {
		if sameKind >= l.MaxPrincipals() && !l.evictUnused(key, false) {
			return l.busyResult("%d principals have a connection in use, which is its maxPrincipals, "+
				"and none was free", sameKind)
		}
	} else {
		if use == ExclusiveUse && key.Session == "" && exclusive >= l.MaxExclusive {
			return l.busyResult("%d calls of this client, in which it can be asked, are in flight there, "+
				"and none ended", l.MaxExclusive)
		}
		if (callers >= maxCallerLanes || sameKind >= maxLanes) && !l.evictUnused(key, callers >= maxCallerLanes) {
			return l.busyResult("%d connections for clients that it can ask are in use, and none was free", sameKind)
		}
	}
	o := &Lane{key: key, exclusive: use != SharedUse}
	l.all = append(l.all, o)
	l.addUser(o)
	return o, nil, nil
}

// busyResult returns the result of tryTake if all lanes are in use. Call it with mu held.
func (l *Table) busyResult(why string, n int) (*Lane, <-chan struct{}, error) {
	return nil, l.freed.Next(), newBusyError(why+" within %v", n, l.Wait())
}

// addUser records that a request is on a lane. Call it with mu held.
func (l *Table) addUser(o *Lane) {
	o.users++
	l.stopTimer(o)
	i := slices.Index(l.all, o)
	l.all = append(slices.Delete(l.all, i, i+1), o)
}

// evictUnused closes the lane of a key's kind that has been unused for the longest time, among the lanes of its caller
// or of all. It reports whether there was one. A lane that a live session holds comes last. Call it with mu held.
func (l *Table) evictUnused(key Key, sameCaller bool) bool {
	for _, held := range [...]bool{false, true} {
		for _, o := range l.all {
			if o.users > 0 || o.key.Kind != key.Kind || sameCaller && o.key.Caller != key.Caller {
				continue
			}
			if isHeld := len(o.sessions) > 0; isHeld == held {
				l.retire(o)
				return true
			}
		}
	}
	return false
}

// RestartTimers restarts the timers of unused lanes after a change of the configuration.
func (l *Table) RestartTimers() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.all {
		if o.users == 0 && !o.retired && !l.closed {
			l.stopTimer(o)
			l.startTimer(o)
		}
	}
}

// stopTimer stops the timer that closes a lane. Call it with mu held.
func (l *Table) stopTimer(o *Lane) {
	if o.idleTimer != nil && o.idleTimer.Stop() {
		l.closing.Done()
	}
	o.idleTimer = nil
}

// Release records that a request on a lane has ended.
func (l *Table) Release(o *Lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o.users--
	l.freed.All()
	switch {
	case o.users > 0 || l.closed || o == &l.base:
		return
	case o.retired, o.conn == nil, o.hasEnded(), o.hasUnreplied():
		l.retire(o)
		return
	}
	o.exclusive = false
	if o.failed.IsZero() {
		l.failures[o.key.Kind], l.hangs[o.key.Kind] = 0, 0
	}
	l.startTimer(o)
}

// startTimer starts the timer that closes an unused lane, unless a live session holds the lane. Call it with mu held.
func (l *Table) startTimer(o *Lane) {
	idle := FailureRetry
	if o.failed.IsZero() {
		idle = l.IdleTime(o.key, len(o.sessions) > 0)
	}
	if idle < 0 {
		return
	}
	l.closing.Add(1)
	var timer *time.Timer
	timer = time.AfterFunc(idle, func() {
		defer l.closing.Done()
		l.mu.Lock()
		defer l.mu.Unlock()
		if o.idleTimer == timer && !l.closed {
			o.idleTimer = nil
			l.retire(o)
		}
	})
	o.idleTimer = timer
}

// NotifyFreed makes requests that wait for a lane check again.
func (l *Table) NotifyFreed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.freed.All()
}

// Abandon ends the use of a lane that cannot be used, and drops the lane. For the time d, no lane of
// the kind is tried.
func (l *Table) Abandon(o *Lane, kind Kind, d time.Duration) {
	l.mu.Lock()
	l.retryAt[kind] = time.Now().Add(d)
	if !l.closed {
		l.retire(o)
	}
	l.mu.Unlock()
	l.Release(o)
}

// NextPause returns how long no lane of a kind is tried after a failure. The pause doubles up to limit, because a
// server that crashed may start at the next attempt. A server that hangs delays calls until the connect deadline. So
// its pause starts at limit, and doubles with each further attempt, up to maxHungPause.
func (l *Table) NextPause(kind Kind, hung bool, limit time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if hung {
		if !l.mayTryLocked(kind) { // other attempts have failed with it
			return time.Until(l.retryAt[kind])
		}
		l.hangs[kind]++
		return min(limit<<min(l.hangs[kind]-1, 10), maxHungPause)
	}
	l.failures[kind]++
	return min(firstLanePause<<min(l.failures[kind]-1, 10), limit)
}

// MayTry reports whether lanes of a kind may be tried.
func (l *Table) MayTry(kind Kind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mayTryLocked(kind)
}

// mayTryLocked is MayTry with mu held.
func (l *Table) mayTryLocked(kind Kind) bool { return !time.Now().Before(l.retryAt[kind]) }

// retire closes a lane to new requests, and closes its connection once no request uses it. Until then the lane counts,
// and close ends it with the others. Call it with mu held.
func (l *Table) retire(o *Lane) {
	o.retired = true
	l.stopTimer(o)
	if o.users == 0 {
		l.all = slices.DeleteFunc(l.all, func(other *Lane) bool { return other == o })
		l.disconnect(o)
	}
}

// disconnect closes a lane's connection. Call it with mu held.
func (l *Table) disconnect(o *Lane) {
	for _, unwatch := range o.sessions {
		unwatch()
	}
	if o.conn != nil {
		l.closing.Go(o.conn.Close)
	}
}

// Connect returns the connection of a lane. The first call makes it with dial. It returns nil if the table is closed.
func (l *Table) Connect(o *Lane, dial func() Conn) Conn {
	o.start.Do(func() {
		c := dial()
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.closed {
			o.conn = c
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	return o.conn
}

// SetLevel records the level of log messages on a lane, and reports whether it is new.
func (l *Table) SetLevel(o *Lane, level string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	isNew := level != o.level
	o.level = level
	return isNew
}

// EnterQuestion waits until a request that may ask can be sent on a principal's connection. Such requests are sent one
// at a time, but requests of one session may run together. If err is nil, done must follow.
func (l *Table) EnterQuestion(ctx context.Context, o *Lane, session string) (done func(), err error) {
	err = l.await(ctx, func() (freed <-chan struct{}, err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if o.questionRequests > 0 && (session == "" || session != o.askerSession) {
			why := "another client of this principal has a request there that may ask it, which did not end within %v"
			return l.freed.Next(), newBusyError(why, l.Wait())
		}
		o.askerSession = session
		o.questionRequests++
		return nil, nil
	})
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		o.questionRequests--
		l.freed.All()
	}, err
}

// Close closes all lanes in parallel, including lanes in use, and waits for them.
func (l *Table) Close() {
	l.mu.Lock()
	l.closed = true
	for _, o := range l.all {
		l.stopTimer(o)
		l.disconnect(o)
	}
	l.all = nil
	l.freed.All()
	l.mu.Unlock()
	l.closing.Wait()
}

// RetireFailed drops connections that failed recently and for which mended returns true. mended must not call the
// table.
func (l *Table) RetireFailed(mended func(Conn) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range slices.Clone(l.all) {
		if !o.failed.IsZero() && o.conn != nil && mended(o.conn) {
			l.retire(o)
		}
	}
}

// EnterLeastBusy takes the connection with the fewest requests in flight. Release must follow. Among equals it takes
// the first connection, or the one used last, so that unused processes can end.
func (l *Table) EnterLeastBusy(limit int) *Lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	best, count := &l.base, 1
	for _, o := range slices.Backward(slices.Clone(l.all)) {
		switch {
		case o.key.Kind != ForInstance:
		case o.hasEnded():
			l.retire(o)
		case !o.retired && count < limit: // processes beyond that, of an earlier configuration, end
			count++
			if o.users < best.users {
				best = o
			}
		}
	}
	if best.users > 0 && count < limit && !l.closed && l.mayTryLocked(ForInstance) {
		best = &Lane{key: Key{Kind: ForInstance}}
		l.all = append(l.all, best)
	}
	if best == &l.base {
		best.users++
	} else {
		l.addUser(best)
	}
	return best
}

// MarkFailed marks a principal's connection that could not be opened, so that it is not tried again at once. It reports
// whether this is the first failure.
func (l *Table) MarkFailed(o *Lane) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !o.failed.IsZero() {
		return false
	}
	o.failed = time.Now()
	return true
}

// OfPrincipal returns a principal's own connection, or nil if there is none. It may not be open.
func (l *Table) OfPrincipal(p toolbox.Principal) Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.all {
		if o.key.Kind == ForPrincipal && o.key.Caller == p && !o.retired && o.conn != nil {
			return o.conn
		}
	}
	return nil
}

// HasLanes reports whether there is a lane that is in use or not closed yet.
func (l *Table) HasLanes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all) > 0
}
