package audit

// ReadLine reads a line without its end.
func ReadLine(line []byte) (Record, error) { return newLineReader().read(line) }

// AppendLine returns the line of a record, and normalizes the record.
func AppendLine(r *Record) []byte {
	r.normalize(r.At)
	return r.appendLine(nil)
}
