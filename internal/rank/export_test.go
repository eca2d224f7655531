package rank

// Fold is for tests.
var Fold = fold
