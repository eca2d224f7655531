// Package keys is "indus key": the API keys of those who may use "indus serve".
package keys
