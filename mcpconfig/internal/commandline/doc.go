// Package commandline knows the command lines by which people start servers: the code that npx, python and other
// launchers run, and frequent mistakes.
package commandline
