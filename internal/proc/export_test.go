package proc

// Tail keeps the end of stderr.
type Tail = tail

const TailSize = tailSize
