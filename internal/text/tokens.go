package text

// BytesPerToken is the approximate number of bytes of a text or of JSON per token of a model (docs/context.md).
const BytesPerToken = 4
