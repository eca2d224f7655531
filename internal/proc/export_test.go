package proc

// Tail is what stderr is kept in.
type Tail = tail

const TailSize = tailSize
