// Package attack tries to leave a sandbox, and reports which attempts reach something.
//
// [Run] prepares files, sockets and processes outside of a sandbox, starts this program again inside of it, and
// returns one [Result] for each row of [Table]. The program calls [Inside] for that start. Some rows expect to reach
// something: these are the limits that package box lists, and they show that an attempt can succeed.
package attack
