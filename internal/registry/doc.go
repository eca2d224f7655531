// Package registry reads the entries of MCP registries and makes rows of a configuration from them.
//
//	c, err := registry.New("https://registry.example.com")
//	e, err := c.Entry(ctx, "io.github.user/weather", "latest")
//	row, err := e.Offers()[0].Row("weather", nil)
//
// An entry is hostile: any person can publish one. Its names, versions and addresses must have a strict form. A row
// runs a known launcher with one exact package. Arguments of the entry follow the package, where the launcher does not
// read them as its own options. Nothing of an entry can become a variable of the configuration.
//
// A [Site] is the other side: the registry and the server cards of a gateway's own views.
//
// # Concurrency
//
// A [Client] and a [Site] may be used from many goroutines. All other values are plain data.
package registry
