// Package tools has the commands about the features of servers. They list and call tools, lint tools for model
// providers, get prompts, read resources, and complete the values of arguments.
package tools
