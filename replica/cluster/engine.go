package cluster

import (
	"context"
	"errors"
	"time"
)

// The errors of an engine. The errors of its methods wrap them.
var (
	ErrNotFound = errors.New("there is no such key")
	// ErrConflict is returned if another process changed the key or the log before, or is about to. The step is not done.
	ErrConflict = errors.New("another process was faster")
	// ErrUnavailable is returned if the engine did not confirm a step. The step may have been done.
	ErrUnavailable = errors.New("the state that replicas share cannot be reached now: ask again")
)

// MaxValue is the number of bytes that every engine accepts as the value of a key, a record or a message.
const MaxValue = 768 << 10

// MaxKey is the number of bytes that every engine accepts as a key. A key may have any bytes.
const MaxKey = 256

// Engine keeps shared state.
type Engine interface {
	Bus
	// KV returns the keys of a name, which is 1 to 32 of a-z, 0-9 and "-". It does no I/O.
	KV(name string) KV
	// Log opens the log of a name, with the same characters. The first process creates it.
	Log(ctx context.Context, name string) (Log, error)
	// Now returns the time of the engine, which is about the same for all processes.
	Now() time.Time
	// Check returns nil if the engine can be reached now, or an error that wraps ErrUnavailable.
	Check() error
}

// KV is a set of keys with values. Set and Delete act on the current state. While the servers of an engine lose each
// other, Get may return an entry that was replaced some seconds before. An entry is current if it can be stored again.
type KV interface {
	// Get returns the entry of a key. Without one, the error is ErrNotFound.
	Get(ctx context.Context, key string) (Entry, error)
	// Set stores a value if the revision of the key is still revision, and returns the new revision. Zero means that
	// there is no such key. Otherwise the error is ErrConflict. The key expires after ttl, which is at least a second;
	// zero means never. Later revisions of a key are greater, also after it was gone.
	Set(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error)
	// Delete removes a key if its revision is still revision. Otherwise the error is ErrConflict.
	Delete(ctx context.Context, key string, revision uint64) error
	// Watch calls handle with all entries, then with a Change whose Current is set, and then with each change, until the
	// context ends. It returns the error of the context. It continues after the connection was lost. Of several changes
	// of one key, only the last is certain to arrive.
	Watch(ctx context.Context, handle func(Change)) error
}

// Entry is a key with its value. Do not change the value.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
	Stored   time.Time // by the clock of the engine
}

// Change is an entry that was stored, a key that is gone, or neither.
type Change struct {
	Entry
	Gone    bool // the key was deleted or has expired
	Current bool // there is no entry: all that were stored before have arrived
}

// Log is a sequence of records. No record is changed or removed.
type Log interface {
	// Append stores a record if after is the sequence of the last record, and returns its sequence. The first record
	// follows 0. Otherwise the error is ErrConflict.
	Append(ctx context.Context, data []byte, after uint64) (uint64, error)
	// Read returns the records that follow the sequence after, and at most limit of them. Like Get, it may miss those of
	// the last seconds.
	Read(ctx context.Context, after uint64, limit int) ([]Record, error)
}

// Record is a record of a log.
type Record struct {
	Sequence uint64
	Data     []byte
}

// Bus delivers messages to the processes that listen at that moment, at most once.
type Bus interface {
	Publish(ctx context.Context, topic string, data []byte) error
	// Subscribe calls handle for each message of a topic until stop has returned.
	Subscribe(topic string, handle func(data []byte)) (stop func(), err error)
}
