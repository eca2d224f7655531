// Package natsserver starts NATS servers for tests, as processes.
package natsserver
