// Package keys is "indus key": the API keys of the clients of "indus serve".
package keys
