// Package mcpconfig finds and reads the files that configure MCP servers.
//
// Call [Load] first: it takes a file or a directory and returns the servers that
// may start, and a [Note] for everything that somebody may want to know about the
// others. A program that mounts what its working directory configures:
//
//	servers, notes := mcpconfig.Load(ctx, ".")
//	for _, n := range notes {
//		log.Print(n) // .indusvx/mcp.json:7:13: server "github": env "GITHUB_TOKEN": the variable GITHUB_TOKEN is not set; …
//	}
//	mounted := interop.Mount(ctx, servers, nil)
//	defer mounted.Close()
//
// [Read] is for programs that show a configuration: it takes several paths, and
// returns all rows with their state, those that are held back among them.
//
// # Where it looks
//
// A path that is a file is that file. A path that is a directory, and the working
// directory where there is no path, is searched in this order:
//
//	DIR/.indusvx/mcp.json                  [Project]
//	$XDG_CONFIG_HOME/indusvx/mcp.json      [User], by default ~/.config/indusvx/mcp.json
//	~/.indusvx/agent/mcp.json              [Legacy]
//	~/.indusvx/agent/mcp-servers.json      [LegacyAlt]
//
// Of one search the first file that has an id wins it; of several paths the later
// wins; of one file the last row wins. A whole row wins: nothing is merged. A
// disabled row wins like any other, so that a project can switch a server of the
// user's off; a row that is skipped wins nothing. However many directories are
// searched, the user's own files are read once, and go behind every project's.
//
// # What may start
//
// The servers of a file that was named, and those of the user's own files. A
// project's file that was only discovered may come from a cloned repository: its
// servers are [Held], unless Options.Trust is set or its path is named too.
//
// # The file
//
// JSON of at most 1 MiB and 1,000 rows, in UTF-8 with or without byte order mark, with comments
// and trailing commas as one likes:
//
//	{
//	  "servers": {                               // or "mcpServers", or both; or a list
//	    "github": {                              // in a list: "id" or "name" in the row
//	      "command": "npx",                      // "~/" in front is the home directory
//	      "args": ["-y", "@modelcontextprotocol/server-github"],
//	      "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"},
//	      "cwd": "tools",                        // from the file's directory, or the one around .indusvx
//	      "inheritEnv": false,                   // true: the child gets the whole environment
//	      "timeout": 90000,                      // milliseconds, or "90s"
//	    },
//	    "remote": {
//	      "url": "https://example.com/mcp",      // streamable HTTP, which falls back to SSE
//	      "headers": {"Authorization": "Bearer ${TOKEN:-none}"},
//	      "transport": "sse",                    // or "type": stdio, http, streamable-http, sse
//	      "enabled": false,                      // or "disabled": true
//	    },
//	  },
//	}
//
// The order of rows, variables and headers is kept. A row with a url and a
// command is a url, unless its transport is stdio. In args, env and headers, a
// number or a boolean counts as its text, and what else is no string is left out;
// each with a note. "timeout" bounds each step by itself (connecting, listing, a
// call since its last progress), 0 is the defaults of [interop.Timeouts] and less
// than 0 is none. Keys that begin with "$", "_", "/" or "#" are comments; other
// unknown keys are noted.
//
// # Variables
//
// ${VAR} and ${VAR:-default} are replaced in command, args, cwd, url and in the
// values of env and headers. The default stands in for a variable that is not set
// or empty, as in a shell, and may have variables itself. A server with a variable
// that is not set and has no default is skipped, and only that one. "$${" stands
// for "${"; any other "$" for itself. Values that come in are not read again.
//
// # Errors
//
// [Read] fails for a path that does not exist, because a typo must not load
// another configuration, and for a named file that cannot be read or parsed at
// all. A bad row, an unknown key and a file that was only discovered never make it
// fail: they are notes. [Load] turns the failure into a note as well.
//
// Notes and errors show names of servers, keys and variables, and never a value;
// so does a [Row], in every format. The servers themselves hold the values: those
// of env and headers as [interop.Secret], but URL and Args as plain text, which
// must not be logged where a variable may stand in them.
//
// # Concurrency
//
// Nothing is shared and nothing goes on: all functions may be called from several
// goroutines, and have read all they will read when they return.
//
// # Testing
//
// Set Options.Home and Options.Env in tests; then nothing of the machine is read.
package mcpconfig
