package ledger

import (
	"bytes"
	"os"
)

// MaxLine and MaxBody are the limits of a line.
const (
	MaxLine = maxLine
	MaxBody = maxBody
)

// Unsynced makes a file that many tests write not wait for the disk.
func Unsynced(f *File) *File {
	f.sync = func(*os.File) error { return nil }
	return f
}

// Broken makes every sync of a file fail.
func Broken(f *File, err error) { f.sync = func(*os.File) error { return err } }

// ReadLine reads one line of a log.
func ReadLine(line []byte) (Entry, []byte, error) {
	e, _, body, err := readLine(line, func(b []byte) string { return string(b) })
	return e, body, err
}

// ReadHead reads the head of a line as every line is read, and as none would be that is
// not as we write it.
func ReadHead(head []byte) (quick, thorough Entry, formats [2]string, isPlain bool, err error) {
	text := func(b []byte) string { return string(b) }
	formats[0], isPlain = quick.readPlainHead(head, text)
	formats[1], err = thorough.readHead(append([]byte{' '}, head...), text)
	return quick, thorough, formats, isPlain, err
}

// AppendLine is the line of an entry as a File writes it.
func AppendLine(e Entry) []byte {
	body := e.seal()
	line, _ := appendLine(nil, e.plain(), body)
	return line
}

// VerifyBytes is the damage of a log in memory.
func VerifyBytes(b []byte) []Damage {
	s := newScan()
	if torn, _ := s.read(bytes.NewReader(b)); torn > 0 {
		s.report(Torn, 0, 0, "")
	}
	return s.damage
}
