// Package mcpconfig finds and reads the files that configure MCP servers.
//
// Call [Load] first. It takes a file or a directory and returns the servers that may start. For everything else that a
// person may want to know it returns a [Note]. This program mounts the servers that its working directory configures:
//
//	servers, notes := mcpconfig.Load(ctx, ".")
//	for _, n := range notes {
//		log.Print(n) // .indusvx/mcp.json:7:13: server "github": env "GITHUB_TOKEN": the variable GITHUB_TOKEN is not set; …
//	}
//	mounted := interop.Mount(ctx, servers, nil)
//	defer mounted.Close()
//
// [Read] is for programs that show a configuration. It takes several paths, and returns all rows with their state.
//
// # Where it looks
//
// If a path is a file, that file is read. If it is a directory, it is searched. If there is no path, the working
// directory is searched. The search has this order:
//
//	DIR/.indusvx/mcp.json                  [Project]
//	$XDG_CONFIG_HOME/indusvx/mcp.json      [User], by default ~/.config/indusvx/mcp.json
//	~/.indusvx/agent/mcp.json              [Legacy]
//	~/.indusvx/agent/mcp-servers.json      [LegacyAlt]
//
// A home or $XDG_CONFIG_HOME that is not absolute is ignored, with a note. If a link in a project leads to one of the
// user's own files, it counts as that file at its real path.
//
// In one search, the first file that has an id wins it. Among several paths the later one wins, and in one file the
// last row. A whole row wins: nothing is merged. A disabled row wins like any other, so a project can switch off a
// server of the user. A row that is skipped wins nothing. A row that waits for approval never wins over a row that
// needs none. The user's own files are read once, and come after the files of every project.
//
// # What may start
//
// The servers of a named file and of the user's own files may start, if their start takes nothing from a project. A
// project's file that was only discovered may come from a cloned repository, so its servers are [Held]. They may start
// if Options.Trust is set, if the path of the file is named too, or if a person approved them ([Approve], [Revoke],
// [Approvals]).
//
// A server of another file is held as well if it takes something from the project by a path that is not written out.
// docs/approval.md lists these servers, and what an approval covers. The project is Options.Dir and the directories
// around it, up to the root of the outermost repository. Before approval, nothing of a row runs and nothing is sent. Of
// the files that it names, only files of the project are read ([Row.Files]).
//
// An approval is for one id in one file, at any path from which links lead to the file. For a row that does not belong
// to the project, it is also for one directory ([Row.Project]). It does not cover times, the profile and comments. If
// it covers the value of a ${cmd:…} or ${file:…}, call [Config.Resolve] before [Approve].
//
// Rows that do not belong to the project do not look for programs in directories of PATH that are in it
// ([Config.Avoided]).
//
// Approvals are kept in approvals.json of [StateDir], or in the file to which a link of that name leads. If another
// user owns the file or can write there, or if it cannot be read, no row counts as approved, and a note has the reason.
// The tools that a person allowed to run without a question in a project are kept beside them ([ApproveTools],
// [RevokeTools], [ApprovedTools]).
//
// # The file
//
// docs/configuration.md describes the format: the fields, the variables, where servers start, and how mistakes are
// treated. [FileSchema] is its JSON Schema. A server without a directory of its own starts in an empty one below
// servers in [StateDir] ([config.Stdio.Fresh]). Read makes that directory, unless Options.Dry is set.
//
// # Other clients
//
// [Import] reads the servers of Claude Desktop, Cursor, Codex and the other [Clients], and returns them as [Definition]
// values in the format of this package. [Read] accepts their files too if they are named. Its notes then have the
// positions in their text. [Export] writes one entry into such a file: indus itself, through which the client has every
// server.
//
// The client of a file is known by the content of the file. If the content does not decide it, the name and place of
// the file do (only for Gemini CLI is a "url" SSE). The client's variables become variables of indus. An input that an
// editor asks its user for becomes a variable, and a note names the variable to set. In the file of a client without
// variables, "${" becomes "$${". Seconds and milliseconds become durations, and a disabled server stays disabled. A
// note names every key that is not taken over, and the effect.
//
// # Writing
//
// [Open] reads a file to change it, and [Edit.Save] writes it in one step. Comments and order are kept. If the file
// changed in the meantime, it is not written. [Rewrite] does the same for files of other programs. [Lock] makes other
// editors wait, so that no change fails because of another one. If a project's file is a link to a file outside of the
// project, [Open] and [Rewrite] return an error.
//
// # Passes
//
// A file becomes servers in passes. Each pass reads only the result of the pass before.
//
//	source      a file: path, scope, whether its user approved it           search.go
//	configFile  its text as a tree with positions                           file.go, members.go
//	rawRow      the members of one row by name, each with a position        rows.go
//	typedRow    the types of its fields; texts still have their variables   typed.go
//	valuedRow   its values: each textValue has its text, the text of the    texts.go, expand.go
//	            file and the sources of the replaced parts
//	Row         the decision: state, reason, fingerprint of the approval    resolve.go
//
// The findings of these passes become notes in one place. Files use only names of files below them, from rows.go at the
// ground to read.go at the top.
//
// If values have to be fetched, only the pass of valuedRow runs again. The table of fields is package
// mcpconfig/internal/fields.
//
// # Errors
//
// [Read] fails for a path that does not exist, because a typo must not load another configuration. It also fails for a
// named file that cannot be read or parsed at all. A bad row, an unknown key and a mistake in a discovered file are
// notes. [Load] turns such an error into a note as well.
//
// Notes and errors show names of servers, keys and variables, and never a value. The same holds for a [Row], in every
// format. The servers themselves hold the values. The values of env and headers are [config.Secret], but URL and Args
// are plain text. Do not log these two if they may contain variables.
//
// # Concurrency
//
// All functions may be called from several goroutines. When they return, all reading and all commands are finished. The
// approvals are shared with other processes, under a lock.
//
// # Testing
//
// Set Options.Home and Options.Env in tests. Then nothing of the machine is read, except by the commands of a ${cmd:…},
// which get the real environment.
package mcpconfig
