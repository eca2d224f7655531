// Package mcpregistry tests the commands for registries with the server of the official registry, on PostgreSQL.
package mcpregistry
