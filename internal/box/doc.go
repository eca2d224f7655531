// Package box confines a process and its descendants to the files, hosts and system calls that a [Box] names.
//
// [Box.Start] has the signature of [os.StartProcess] and replaces it. [Supported] reports which parts of a sandbox
// this system can enforce. If it cannot enforce the whole, Start returns an [Unenforced] error.
//
//	b := &box.Box{Read: []string{"/home/u/project"}, Home: "/home/u/.local/state/indus/box/weather"}
//	child, err := b.Start("/usr/bin/node", []string{"node", "server.js"}, &os.ProcAttr{Env: os.Environ()})
//
// # Mechanisms
//
// On Linux, a thread of our own process confines itself and starts the child, which inherits this. Landlock limits
// files, signals and TCP ports. A seccomp filter refuses system calls that Landlock does not know, such as UDP
// sockets, ptrace and namespaces. Each connect and listen is a notification to the [Broker], which connects in the
// place of the process. The thread ends with the start, and our own process stays unconfined. There is no helper
// program.
//
// # Limits
//
// Landlock does not cover the metadata of files. A confined process can see the size and times of any file that
// its user can. It can change the mode and times of the user's files, and watch directories for changes. It can
// read /proc/PID/cmdline of other processes unless NoProc is set, and change the priority of the user's processes.
// Before Linux 6.12 it can signal them, as [Supported] reports. Memory and the number of processes are limited only
// where the user may divide a cgroup v2. Package attack shows these limits.
//
// # Concurrency
//
// A Box is not changed by Start, so several goroutines may use it at once.
package box
