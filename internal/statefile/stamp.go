package statefile

import (
	"os"
	"time"
)

// stamp is what there is to see of a file without opening it.
type stamp struct {
	info os.FileInfo // nil: there is none
	at   time.Time
}

func stampOf(path string) stamp {
	at := time.Now()
	info, _ := os.Stat(path) // after an error nothing is read, and nothing is kept
	return stamp{info, at}
}

// coarse is how far the clock that stamps files may lag.
const coarse = 20 * time.Millisecond

// isSame reports that nothing was written since o was taken: nor in the moment after that, which the clock of files
// cannot tell from it. A file that was replaced twice may have the number of the first.
func (s stamp) isSame(o stamp) bool {
	if s.info == nil || o.info == nil {
		return s.info == nil && o.info == nil
	}
	return os.SameFile(s.info, o.info) && s.info.Size() == o.info.Size() && s.info.Mode() == o.info.Mode() &&
		s.info.ModTime().Equal(o.info.ModTime()) && o.at.Sub(o.info.ModTime()) > coarse
}
