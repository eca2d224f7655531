// Package serve implements "indus serve": one endpoint for all configured servers, over HTTP or stdio. It follows
// changes of the configuration while it runs.
package serve
