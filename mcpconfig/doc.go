// Package mcpconfig finds and reads the files that configure MCP servers.
//
// Call [Load] first: it takes a file or a directory and returns the servers that may start, and a [Note] for everything
// else that a person may want to know. A program that mounts what its working directory configures:
//
//	servers, notes := mcpconfig.Load(ctx, ".")
//	for _, n := range notes {
//		log.Print(n) // .indusvx/mcp.json:7:13: server "github": env "GITHUB_TOKEN": the variable GITHUB_TOKEN is not set; …
//	}
//	mounted := interop.Mount(ctx, servers, nil)
//	defer mounted.Close()
//
// [Read] is for programs that show a configuration: it takes several paths, and returns all rows with their state.
// docs/configuration.md describes the format for users, and [FileSchema] is its JSON Schema.
//
// # Where it looks
//
// A path that is a file is that file. A path that is a directory, and the working directory where there is no path, is
// searched in this order:
//
//	DIR/.indusvx/mcp.json                  [Project]
//	$XDG_CONFIG_HOME/indusvx/mcp.json      [User], by default ~/.config/indusvx/mcp.json
//	~/.indusvx/agent/mcp.json              [Legacy]
//	~/.indusvx/agent/mcp-servers.json      [LegacyAlt]
//
// A home or $XDG_CONFIG_HOME that is not absolute is ignored, with a note. A link in a project to one of the user's own
// files is that file, where it really is.
//
// Of one search the first file that has an id wins it. Of several paths the later wins, and of one file the last row. A
// whole row wins: nothing is merged. A disabled row wins like any other, so that a project can switch a server of the
// user's off. A row that is skipped wins nothing, and a row that waits for approval wins over no row that need not. The
// user's own files are read once, and go behind every project's.
//
// # What may start
//
// The servers of a file that was named and those of the user's own files may start, if their start takes nothing from a
// project. A project's file that was only discovered may come from a cloned repository: its servers are [Held], unless
// Options.Trust is set, its path is named too, or a person approved them ([Approve], [Revoke], [Approvals]). So is a
// server of another file that would start in the project, run a program by a path in it, find code there by its
// environment, or get a file of it. The project is Options.Dir and what is around it, up to the root of the outermost
// repository. Until then nothing of such a row runs, nothing is sent, and nothing that it names is read but files of
// the project ([Row.Files]).
//
// An approval is for one id in one file, wherever links to the file stand. For a row that is not the project's it is
// also for one directory ([Row.Project]). It covers what the row says but for its times, its profile and comments:
// command, arguments, directory and addresses with their variables replaced, all else as it is written, and what the
// files of the project hold. Of a project's row it covers what a ${cmd:…}, or a ${file:…} elsewhere, gave where that
// decides what runs or what is called: call [Config.Resolve] before [Approve]. A row that changes in any of these is
// held again. An approval does not judge the program itself: to approve ./run.sh is to approve whatever will be in it.
//
// Rows that are not the project's do not look for programs in directories of PATH that lie in it ([Config.Avoided]).
//
// Approvals are kept in approvals.json of [StateDir], or where a link of that name leads. If another user owns it or
// can write there, or it cannot be read, nothing counts as approved, and a note says so. Tools that a person lets run
// unasked in a project are kept beside them ([ApproveTools], [RevokeTools], [ApprovedTools]).
//
// # The file
//
// JSON of at most 1 MiB and 1,000 rows, in UTF-8 with or without byte order mark, with comments and trailing commas:
//
//	{
//	  "servers": {                               // or "mcpServers", or both; or a list
//	    "github": {                              // in a list: "id" or "name" in the row
//	      "command": "npx",                      // "~/" in front is the home directory
//	      "args": ["-y", "@modelcontextprotocol/server-github"],
//	      "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"},
//	      "envFile": ".env",                     // of NAME=VALUE lines; what "env" has goes first
//	      "cwd": "tools",                        // from the file's directory, or the one around .indusvx
//	      "inheritEnv": false,                   // true: the child gets the whole environment
//	      "era": "legacy",                       // or "modern"; "auto" asks the server, and is the default
//	      "timeout": 90000,                      // milliseconds, or "90s"
//	      "instances": 4,                        // up to so many processes; or "per": "principal"
//	      "maxConcurrent": 8,                    // requests at a time; "maxQueue": 100 wait
//	      "lazy": true,                          // connected when it is first needed
//	      "idle": "10m",                         // for how long it is kept without a use
//	      "tools": {                             // by the server's own names
//	        "allow": ["list_*", "get_issue"],    // without it all are mounted
//	        "deny": ["*_secret?"],               // whatever allow says
//	        "rename": {"list_issues": "issues"},
//	        "describe": {"get_issue": "One issue, with its comments."},
//	      },
//	    },
//	    "remote": {
//	      "url": "https://example.com/mcp",      // streamable HTTP, which falls back to SSE
//	      "headers": {"Authorization": "Bearer ${TOKEN:-none}"},
//	      "oauth": {                             // or false: nobody signs in
//	        "clientId": "me",                    // of a client that was registered by hand
//	        "clientSecret": "${SECRET}",
//	        "scopes": ["read"],                  // or "read write"
//	        "redirectUri": "http://localhost:8085/callback", // or "redirectPort": 8085, of http://127.0.0.1:8085/callback
//	        "account": "work",                   // rows with one URL and one account share a sign-in
//	        "issuer": "https://as.example.com",  // the one authorization server to use
//	        "clientMetadataUrl": "https://…",    // a client ID metadata document
//	        "grant": "client_credentials",       // or "token_exchange", or "authorization_code", the default
//	      },
//	      "tls": {"ca": "ca.pem", "cert": "me.pem", "key": "me.key"},
//	      "forwardHeaders": ["X-Request-Id"],    // of a client's request, with that request
//	      "transport": "sse",                    // or "type": stdio, http, streamable-http, sse
//	      "timeout": {"connect": "10s", "list": "10s", "call": "2m", "total": "1h"},
//	      "changes": "hold",                     // accept, hold or deny tools that changed; also at the top level
//	      "profile": "openai",                   // a name of package schema's profiles
//	      "enabled": false,                      // or "disabled": true
//	    },
//	    "enterprise": {
//	      "url": "https://example.com/mcp",
//	      "oauth": {
//	        "grant": "token_exchange", "clientId": "me", "issuer": "https://as.example.com",
//	        "privateKey": "${file:me.pem}", "privateKeyId": "1",        // in the place of clientSecret
//	        "subjectToken": "${file:token}", "subjectTokenType": "jwt", // or a URN; without it "id_token"
//	        "identityProvider": {"issuer": "https://idp.example.com", "clientId": "me", "clientSecret": "${SECRET}"},
//	      },
//	    },
//	    "inside": {
//	      "url": "https://mcp.example.com/mcp",
//	      "authorization": "forward",            // the client's own Authorization goes up; nobody signs in
//	    },
//	  },
//	  "views": {                                 // what a client of indus serve sees at /mcp/@NAME
//	    "dev": {
//	      "servers": ["git*"],                   // without it all
//	      "tools": ["github__list_*"],           // by their whole names, prompts too; without these three the servers as a whole
//	      "prompts": ["github__review"],         // likewise, in the place of what tools says of prompts
//	      "resources": ["git__file:///docs/*"],  // server__URI
//	      "mode": "gateway",                     // four tools in the place of all; or "all"
//	      "profile": "openai",                   // schemas as its models take them
//	    },
//	  },
//	  "auth": {                                  // how clients of indus serve say who they are
//	    "methods": ["keys", "jwt"],              // without it what the others are about
//	    "publicUrl": "https://mcp.example.com",  // by which clients reach it
//	    "scopes": ["mcp:{view}"],                // what tokens must have
//	    "issuers": [{"issuer": "https://as.example.com", "audience": ["api://mcp"]}],
//	    "introspection": {"issuer": "https://as.example.com", "endpoint": "https://as.example.com/introspect",
//	      "clientId": "indus", "clientSecret": "${SECRET}"},
//	  },
//	}
//
// The order of rows, variables and headers is kept. A row with a url and a command is a url, unless its transport is
// stdio. In args, env and headers, a number or a boolean counts as its text, and what else is no string is left out,
// each with a note. Of two variables or headers with one name the last counts, and headers have no case. A timeout of 0
// is the default of [interop.Timeouts], and less than 0 is none. "lazy" and "idle" are those of [interop.Server], and
// "per", "instances", "maxPrincipals", "maxConcurrent" and "maxQueue" (0 is none) are [interop.Pool]. null is the same
// as absent. Keys that begin with "$", "_", "/" or "#" are comments.
//
// An unknown key of a row is noted. What cannot be read in "tools", "per", "changes", "oauth", "tls", "forwardHeaders"
// and "authorization" gives the row up, because without it tools would be mounted, or tokens sent, that were meant to
// be kept away. What cannot be read in a view gives the view up, and in "auth" it makes it Broken.
//
// "changes" is the policy for tools that are new or changed since their server was approved ([interop.ChangePolicy]):
// of the row, else of its file. A project's row is at least as strict as the user's own files are, in general and to a
// row of its id. Of two views of one name, and of two "auth", that of the file counts which goes first for servers. A
// project's file that was only discovered widens no view of the user's, and its "auth" does not count.
//
// # Where a server starts
//
// Without "cwd", a project's server starts in the project: that of a [Project] file, and of a file that was named and
// stands where a program keeps its settings in a project, or in Options.Dir or below. The home directory and the root
// are no projects. Any other starts in an empty directory below servers in [StateDir] ([interop.Stdio.Fresh]), so that
// npx, python -m and the like find nothing there that a cloned repository brought. Where that directory cannot be made,
// or others may write there, the row is skipped. Read makes it, unless Options.Dry is set.
//
// # Variables
//
// They are replaced in command, args, cwd, url, in the values of env and headers, and in the texts of oauth and tls:
//
//	${VAR}, ${VAR:-default}       of the environment; ${env:VAR} is the same
//	${userHome}                   the home directory
//	${workspaceFolder}            the project that the file is part of, else Options.Dir
//	${workspaceFolderBasename}    its last part
//	${pathSeparator}, ${/}        "/", on Windows "\"
//	${file:PATH}                  what is in a file, without the last line break
//	${cmd:COMMAND LINE}           what a command prints, without the last line break
//
// The default stands in for a variable that is not set or empty, as in a shell, and may have variables itself. A server
// with a variable that is not set and has no default is skipped. "$${" stands for "${", and any other "$" for itself.
// Values are not read again. ${userHome} and the others above go before variables of these names.
//
// Relative paths begin at the file's directory, or the one around its .indusvx, and commands run there: by the shell
// (sh -c, on Windows cmd /C), with this process's environment, no input and no terminal, for at most 10 s. The path of
// a ${file:…} may have variables and begin with "~/". Files are plain ones of at most 64 KiB, and of an output up to 64
// KiB count. An empty one and a NUL are failures. Each command line runs once in a reading, and of all rows at most 100
// command lines and 1,000 files count. The file of an "envFile" has lines NAME=VALUE as elsewhere, in which nothing is
// replaced.
//
// Commands run, and files outside of the project are read, only for rows that may start, and never where Options.Dry is
// set. If that fails the server is skipped, and its id stays taken. A file in the project must not be a link out of it.
//
// # Other clients
//
// [Import] reads what a person has in Claude Desktop, Cursor, Codex and the others of [Clients], as [Definition] values
// in the words of this file. [Read] takes their files too where they are named, with the positions of their own text in
// its notes. [Export] writes one entry into such a file: indus itself, by which the client has every server.
//
// The content of a file tells whose it is, and its name and place where that does not decide (a "url" is SSE to Gemini
// CLI alone). Their variables become indus's: what an editor asks its user for is a variable, and a note says which one
// to set. "${" in the file of a client that replaces nothing becomes "$${". Their seconds and milliseconds become
// durations, a disabled server stays disabled, and every key that is not taken over is in a note with what that means.
//
// # Writing
//
// [Open] reads a file to change it, and [Edit.Save] writes it: in one step, with its comments and its order, and not if
// it changed underneath. [Rewrite] does so for files of other programs. [Lock] makes others who edit at the same time
// wait, so that no change fails for another one. A project's file that is a link to one outside of the project is an
// error to both.
//
// # Errors
//
// [Read] fails for a path that does not exist, because a typo must not load another configuration, and for a named file
// that cannot be read or parsed at all. A bad row, an unknown key and a file that was only discovered are notes. [Load]
// turns the failure into a note as well.
//
// Notes and errors show names of servers, keys and variables, and never a value; so does a [Row], in every format. The
// servers themselves hold the values: those of env and headers as [interop.Secret], but URL and Args as plain text,
// which must not be logged where a variable may be in them.
//
// # Concurrency
//
// All functions may be called from several goroutines, and have read and run all they will when they return. The
// approvals are shared with other processes, under a lock.
//
// # Testing
//
// Set Options.Home and Options.Env in tests. Then nothing of the machine is read, but by the commands of a ${cmd:…},
// which get the real environment.
package mcpconfig
