// Package deployment checks the files of deploy: the chart with the linter and the renderer of Helm, each object with
// the types of its API, and compose.yaml with the loader of Docker Compose. HAProxy and NATS read their configurations.
package deployment
