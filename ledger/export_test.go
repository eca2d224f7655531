package ledger

import (
	"os"

	"github.com/indusagi/indus/interop/config"
)

// MaxLine and MaxBody are the limits of a line.
const (
	MaxLine = maxLine
	MaxBody = maxBody
)

// Unsynced makes a file skip its syncs, for tests that write much.
func Unsynced(f *File) *File {
	f.sync = func(*os.File) error { return nil }
	return f
}

// Archived makes a file an archive whenever it has that many bytes.
func Archived(f *File, bytes int64) *File {
	f.archiveSize = bytes
	return f
}

// ArchivedShared makes a log an archive whenever it has that many bytes.
func ArchivedShared(l *Shared, bytes int64) *Shared {
	l.archiveSize = bytes
	return l
}

// Carried returns the entries that the present depends on.
func Carried(entries []Entry) []Entry { return neededEntries(entries) }

// Approved returns the approvals in a state, by server and tool.
func (s *State) Approved() map[string]string {
	out := map[string]string{}
	for t, sum := range s.approved.sums {
		out[t.config+" "+t.server+" "+t.name] = sum
	}
	return out
}

// Described returns the descriptions of servers in a state, by server and configuration.
func (s *State) Described(servers []config.Server) map[string]string {
	out := map[string]string{}
	for from, says := range s.descriptions(servers) {
		out[from.server+" "+from.config] = string(says)
	}
	return out
}

// Broken makes every sync of a file fail.
func Broken(f *File, err error) { f.sync = func(*os.File) error { return err } }

// ReadLine reads one line of a log.
func ReadLine(line []byte) (Entry, []byte, error) {
	r, err := readLine(line, func(b []byte) string { return string(b) })
	return r.Entry, r.body, err
}

// AppendLine returns the line of an entry as a File writes it.
func AppendLine(e Entry) []byte { return newRecord(e).appendLine(nil) }

// VerifyBytes returns the damage of a log in memory.
func VerifyBytes(b []byte) []Damage {
	s := newScan()
	if torn := s.read(b); torn > 0 {
		s.Report(Torn, 0, 0, "")
	}
	return s.Damage
}

// PollNow reads approvals that other processes have written.
func PollNow(a *Attachment) { a.poll() }
