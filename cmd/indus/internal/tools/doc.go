// Package tools is the commands about what servers have: tools, which are listed, called, and
// linted for model providers, prompts, resources, and the values of their arguments.
package tools
