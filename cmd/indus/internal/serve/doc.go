// Package serve is "indus serve": one endpoint for all configured servers, over HTTP or
// stdio, which follows the configuration while it runs.
package serve
