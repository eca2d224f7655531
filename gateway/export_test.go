package gateway

// Methods are the names of all rows of the table.
func Methods() (names []string) {
	for _, row := range methods() {
		names = append(names, row.name)
	}
	return names
}
