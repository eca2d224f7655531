package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// Stamp is what there is to see of a file without opening it.
type Stamp struct {
	info os.FileInfo // nil: see err
	err  string
	at   time.Time
}

// StampOf looks at a file.
func StampOf(path string) Stamp {
	at := time.Now()
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Stamp{err: "not there", at: at}
	case err != nil:
		return Stamp{err: err.Error(), at: at}
	}
	return Stamp{info: info, at: at}
}

// coarse is how far the clock that stamps files may lag.
const coarse = 20 * time.Millisecond

// Same reports that nothing was written since o was taken: nor in the moment after that, which the clock of files cannot tell
// from it. A file that was replaced twice may have the number of the first.
func (s Stamp) Same(o Stamp) bool {
	if s.info == nil || o.info == nil {
		return s.info == nil && o.info == nil && s.err == o.err
	}
	return os.SameFile(s.info, o.info) && s.info.Size() == o.info.Size() && s.info.Mode() == o.info.Mode() &&
		s.info.ModTime().Equal(o.info.ModTime()) && o.at.Sub(o.info.ModTime()) > coarse
}
