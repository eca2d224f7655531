package ledger

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/filelock"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// checkpointEvery is how much is read behind a checkpoint before there is a new one, in bytes.
const checkpointEvery = 128 << 10

// checkpointSuffix is behind the log's name in the name of its checkpoint.
const checkpointSuffix = ".checkpoint"

// checkpointVersion changes with the meaning of a checkpoint's members.
const checkpointVersion = 2

// checkpoint is the [State] of a log up to a line, as the file beside the log has it: the
// SHA-256 of the rest, and JSON. Whoever finds that line where the checkpoint says goes on
// behind it, for its hash depends on all before it; for everyone else there is no checkpoint.
type checkpoint struct {
	Version int    `json:"version"` // checkpointVersion: another one is ignored
	Offset  int64  `json:"offset"`  // of the line's end
	Length  int    `json:"length"`  // of the line, with its end
	Line    int    `json:"line"`
	Hash    string `json:"hash"`
	High    uint64 `json:"high"`

	Began    int            `json:"began"`
	Runs     map[string]int `json:"runs"`
	Approved []approval     `json:"approved"`
	Enrolled []approval     `json:"enrolled"` // servers
	Heard    []checkpointed `json:"heard"`
}

type approval struct {
	Config string `json:"config"`
	Server string `json:"server"`
	Tool   string `json:"tool,omitempty"`
	Sum    string `json:"sum,omitempty"`
}

type checkpointed struct {
	Server string      `json:"server"`
	Config string      `json:"config"`
	Run    int         `json:"run"`
	At     time.Time   `json:"at"`
	Tools  []knownTool `json:"tools"`
	Says   *knownTool  `json:"says,omitempty"` // its description; nil: there is none
	Seen   bool        `json:"seen,omitempty"` // it has the tools
}

// knownTool is a tool of which the log has the object; Body is the offset of its line.
type knownTool struct {
	Key    Key    `json:"key"`
	Sum    string `json:"sum"`
	Format string `json:"format"`
	Body   int64  `json:"body"` // -1: the log has no more than the sum
}

// encode is the checkpoint of st, which s has read. It is the same for the same log.
func (st *State) encode(s *scan) ([]byte, error) {
	c := checkpoint{Version: checkpointVersion, Offset: s.offset, Length: len(s.last) + 1, Line: s.line, Hash: s.prev, High: s.high, Began: st.began, Runs: st.runs}
	for t, sum := range st.approved.sums {
		c.Approved = append(c.Approved, approval{t.config, t.server, t.name, sum})
	}
	for o := range st.approved.enrolled {
		c.Enrolled = append(c.Enrolled, approval{Config: o.config, Server: o.server})
	}
	for _, list := range [][]approval{c.Approved, c.Enrolled} {
		slices.SortFunc(list, func(a, b approval) int {
			return cmp.Or(strings.Compare(a.Config, b.Config), strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool))
		})
	}
	for from, h := range st.heard {
		one := checkpointed{Server: from.server, Config: from.config, Run: h.run, At: h.at, Seen: h.seen}
		for _, e := range h.live.entries() {
			one.Tools = append(one.Tools, s.known(e))
		}
		if h.says != nil {
			says := s.known(*h.says)
			one.Says = &says
		}
		c.Heard = append(c.Heard, one)
	}
	slices.SortFunc(c.Heard, func(a, b checkpointed) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Config, b.Config))
	})
	raw, err := json.Marshal(c)
	sum := sha256.Sum256(raw)
	return append(append(hex.AppendEncode(nil, sum[:]), '\n'), raw...), err
}

// known is what a checkpoint has of an entry with a text.
func (s *scan) known(e Entry) knownTool {
	return knownTool{e.Key, e.Sum, e.Capability.Wire.Format, s.body(e.Sum)}
}

// entry undoes it.
func (t knownTool) entry(op Op, s *scan) Entry {
	s.bodies[t.Sum] = t.Body
	return Entry{Op: op, Key: t.Key, Sum: t.Sum, Capability: &Capability{Wire: toolbox.Wire{Format: t.Format}}}
}

// maxCheckpoint is the longest checkpoint that is read.
const maxCheckpoint = 64 << 20

// readCheckpoint is the bytes of the checkpoint, nil where there is none. Whatever else is in its
// place is never waited for: the log is locked meanwhile.
func (f *File) readCheckpoint() []byte {
	b, _ := atomicfile.ReadPlain(f.path+checkpointSuffix, maxCheckpoint)
	return b
}

// goOn is a scan that goes on behind a checkpoint, and the state up to there; a new scan
// where it is no checkpoint of this file.
func goOn(b []byte, file io.ReaderAt) (*scan, *State) {
	s, st := newScan(), newState()
	if len(b) <= hashLen {
		return s, st
	}
	var c checkpoint
	raw := b[hashLen+1:]
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != string(b[:hashLen]) || json.Unmarshal(raw, &c) != nil || c.Version != checkpointVersion || c.Length > maxLine {
		return s, st
	}
	line := make([]byte, max(1, c.Length))
	if _, err := file.ReadAt(line, c.Offset-int64(len(line))); err != nil || line[len(line)-1] != '\n' {
		return s, st
	}
	line = line[:len(line)-1]
	if r, err := readLine(line, s.text); err != nil || r.Hash != c.Hash {
		return s, st
	} else {
		s.seq, s.prev = r.Seq, r.Hash
	}
	s.offset, s.line, s.high, s.last = c.Offset, c.Line, c.High, line
	c.restore(s, st)
	return s, st
}

// restore fills a state, and a scan with the bodies that the state needs.
func (c *checkpoint) restore(s *scan, st *State) {
	st.began = c.Began
	maps.Copy(st.runs, c.Runs)
	for _, a := range c.Approved {
		st.approved.sums[toolID{a.Config, a.Server, a.Tool}] = a.Sum
	}
	for _, o := range c.Enrolled {
		st.approved.enrolled[origin{o.Server, o.Config}] = true
	}
	for _, one := range c.Heard {
		h := &heard{run: one.Run, at: one.At, live: newFold(), seen: one.Seen}
		for _, t := range one.Tools {
			h.live.take(t.entry(Enroll, s))
		}
		if one.Says != nil {
			says := one.Says.entry(Describe, s)
			h.says = &says
		}
		st.heard[origin{one.Server, one.Config}] = h
	}
}

// lastState is what was read last, so that who asks again and again learns cheaply that
// there is nothing new.
type lastState struct {
	info  os.FileInfo
	state *State
}

// State is the state of the log, with the tools of these servers. It reads what was written
// behind the checkpoint, and writes a new one where that is much.
func (f *File) State(ctx context.Context, servers ...interop.Server) (*State, error) {
	file, of, err := f.openToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f.mu.Lock()
	now := f.now
	f.mu.Unlock()
	if isSame(now.info, of) && len(servers) == 0 {
		return now.state, nil
	}
	s, st := goOn(f.readCheckpoint(), file)
	from := s.offset
	s.each = st.record
	err = s.section(ctx, file, of.Size())
	if err == nil && from > 0 && !st.isComplete(s) {
		s, st, from = newScan(), newState(), 0
		s.each = st.record
		err = s.section(ctx, file, of.Size())
	}
	if err != nil {
		return nil, err
	}
	if s.offset-from >= f.every && len(s.damage) == 0 {
		if err := f.writeCheckpoint(ctx, s, st); err != nil {
			f.logger.Warn("the checkpoint of the ledger cannot be written", "err", err)
		}
	}
	for _, server := range servers {
		st.load(file, s, server)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.adopt(s, of)
	f.now = lastState{of, st}
	f.grown = f.grown || from/maxOld != s.offset/maxOld
	return st, nil
}

// isComplete reports whether a scan knows of every tool whether the log has its object: one
// that was listed again after a checkpoint may be in front of it.
func (st *State) isComplete(s *scan) bool {
	for _, h := range st.heard {
		for _, e := range h.entries() {
			if _, ok := s.bodies[e.Sum]; !ok {
				return false
			}
		}
	}
	return true
}

// record takes what a scan reads. Tool objects stay in the file.
func (st *State) record(r *record, _ []byte) {
	if r.Op == Enroll || r.Op == Describe {
		r.Capability = &Capability{Wire: toolbox.Wire{Format: r.format}}
	}
	st.take(r.Entry)
}

// load reads the tool objects of a server. One that cannot be read is not known.
func (st *State) load(file io.ReaderAt, s *scan, server interop.Server) {
	h := st.of(server)
	if h == nil {
		return
	}
	for _, e := range h.entries() {
		at := s.body(e.Sum)
		if at < 0 {
			continue
		}
		line, _, err := nextLine(bufio.NewReader(io.NewSectionReader(file, at, maxLine+1)))
		if err != nil {
			continue
		}
		if r, err := readLine(line, s.text); err == nil && r.Sum == e.Sum {
			e.Capability.Wire.JSON = bytes.Clone(r.body)
		}
	}
}

// writeCheckpoint replaces the checkpoint. Who reads it in the meantime, or after a crash,
// finds the old one, the new one or none.
func (f *File) writeCheckpoint(ctx context.Context, s *scan, st *State) error {
	b, err := st.encode(s)
	if err != nil {
		return err
	}
	unlock, err := filelock.Lock(ctx, f.path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	return atomicfile.Replace(f.path+checkpointSuffix, b, nil)
}

// verifyCheckpoint reads a log up to its checkpoint, and reports one that is not what the
// log comes to there.
func (f *File) verifyCheckpoint(ctx context.Context, file io.ReaderAt, s *scan, each func(*record, []byte)) error {
	b := f.readCheckpoint()
	at, _ := goOn(b, file)
	if at.offset == 0 {
		return nil
	}
	st := newState()
	s.each = func(r *record, line []byte) {
		each(r, line)
		st.record(r, line)
	}
	if err := s.section(ctx, file, at.offset); err != nil {
		return err
	}
	if is, err := st.encode(s); err != nil || !bytes.Equal(is, b) {
		s.report(Altered, 0, 0, "the checkpoint of the log up to here is not what the log comes to: remove "+f.path+checkpointSuffix)
	}
	return nil
}
