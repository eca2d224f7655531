package proc

// Harmless is what a tail is put through.
var Harmless = harmless

// Tail is what stderr is kept in.
type Tail = tail

const TailSize = tailSize
