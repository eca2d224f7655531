package gateway

// Methods returns the names of all rows of the table.
func Methods() (names []string) {
	for _, row := range methods() {
		names = append(names, row.name)
	}
	return names
}
