package proc

// Find is the program that [Start] would start, or its error: the path that Path
// leads to, in the PATH of Env where it is a name.
func (c Command) Find() (string, error) {
	path, _, err := c.resolve()
	if err != nil {
		return "", c.fail(err)
	}
	return path, nil
}

// SearchPath is the PATH in which names are looked up: that of Env, or where it has
// none what execvp takes.
func (c Command) SearchPath() string { return c.searchPath() }
