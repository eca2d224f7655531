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
// docs/configuration.md describes the format for users, and [FileSchema] is its JSON Schema.
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
// A server of another file is held as well if it takes something from the project. Such a server starts in the project,
// runs a program by a path in it, finds code there by its environment, or gets a file of it. The project is Options.Dir
// and the directories around it, up to the root of the outermost repository. Before approval, nothing of such a row
// runs and nothing is sent. Of the files that it names, only files of the project are read ([Row.Files]).
//
// An approval is for one id in one file, at any path from which links lead to the file. For a row that does not belong
// to the project, it is also for one directory ([Row.Project]). It covers everything in the row except times, the
// profile and comments. Command, arguments, directory and addresses are covered with their variables replaced, and
// everything else as written. The content of the project's files is covered too.
//
// A ${cmd:…}, or a ${file:…} outside of the project, may decide the command line or the address of a project's row.
// Then the approval also covers the value that it gave: call [Config.Resolve] before [Approve]. A row that changes in
// any of these is held again. An approval does not judge the program itself: approval of ./run.sh covers any later
// content of run.sh.
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
//	      "single": false,                       // true: one process in a cluster, and no "instances" or "per"
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
//	        // or "redirectPort": 8085, for http://127.0.0.1:8085/callback
//	        "redirectUri": "http://localhost:8085/callback",
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
//	      "servers": ["git*"],                   // default: all servers
//	      // Without "tools", "prompts" and "resources", the view has everything of these servers.
//	      "tools": ["github__list_*"],           // tools by their whole names, and prompts if "prompts" is absent
//	      "prompts": ["github__review"],         // prompts by their whole names
//	      "resources": ["git__file:///docs/*"],  // server__URI
//	      "mode": "gateway",                     // four tools instead of all; or "all"
//	      "profile": "openai",                   // schemas as its models take them
//	      "publish": true,                       // in the registry of indus serve
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
//	  "policy": "policy.cedar",                  // what callers of indus serve may do: a file or directory
//	  "policyMode": "report",                    // deny nothing yet; or "enforce"
//	  "audit": {                                 // where indus serve records requests; or only the file's path
//	    "file": "audit.jsonl",                   // relative to this file
//	    "maxSize": "100MB", "maxAge": "7d",      // a new file begins at either
//	    "keep": 20,                              // earlier files; without it all
//	    "onFull": "stop",                        // if a record cannot be written: stop or continue
//	    "sync": true,                            // wait for the disk
//	  },
//	  "approvals": {                             // how calls to indus serve wait for a person
//	    "expire": "10m",
//	    "webhook": {"url": "https://chat.example.com/hook", "secret": "${SECRET}"},
//	  },
//	  "cluster": {                               // the state that several indus serve share
//	    "nats": "nats://a:4222,nats://b:4222",
//	    "credsFile": "indus.creds", "tls": {"ca": "ca.pem"},
//	    "name": "indus",                         // prefix of streams and subjects
//	    "replicas": 3,                           // of each stream
//	    "monitor": "http://a:8222,http://b:8222", // shows whether NATS waits for the disk
//	    "lease": "10s",                          // how long a dead process counts as present
//	  },
//	}
//
// The order of rows, variables and headers is kept. A row with a url and a command is a url, unless its transport is
// stdio. In args, env and headers, a number or a boolean counts as its text. Any other value that is not a string is
// left out. Both get a note. If two variables or headers have one name, the last one counts. Names of headers are not
// case-sensitive. A timeout of 0 is the default of [config.Timeouts], and a negative one is no timeout. For "lazy"
// and "idle" see [config.Server]. For "per", "instances", "maxPrincipals", "maxConcurrent" and "maxQueue" (0 is none)
// see [config.Pool]. "single" has no effect without a cluster, and in a project's file. null is the same as absent.
// Keys that begin with "$", "_", "/" or "#" are comments.
//
// An unknown key of a row is noted. If a value in "tools", "per", "single", "changes", "oauth", "tls",
// "forwardHeaders" or "authorization" cannot be read, the row is skipped. Without that value, tools could be mounted,
// or tokens sent, against the intention of the author. If a value in a view cannot be read, the view is left out. In
// "auth", "policy", "audit", "approvals" and "cluster" it sets Broken.
//
// "changes" is the policy for tools that are new or changed since their server was approved ([config.ChangePolicy]).
// The policy of the row comes first, then the policy of its file. A project's row is at least as strict as the user's
// own files, both in general and for a row with its id. If two files have a view of one name, an "auth", a "policy", an
// "audit", "approvals" or "cluster", the file with the higher precedence for servers counts. A project's file that was
// only discovered widens no view of the user, and its "auth", "policy", "audit", "approvals" and "cluster" do not
// count.
//
// # Where a server starts
//
// Without "cwd", a project's server starts in the project. The servers of a [Project] file belong to the project. So do
// the servers of a named file in Options.Dir or below, or in a directory for settings of programs in a project. The
// home directory and the root are not projects.
//
// Any other server starts in an empty directory below servers in [StateDir] ([config.Stdio.Fresh]). There npx, python
// -m and similar commands find nothing that came with a cloned repository. If that directory cannot be made, or if
// others may write there, the row is skipped. Read makes the directory, unless Options.Dry is set.
//
// # Variables
//
// Variables are replaced in command, args, cwd, url, in the values of env and headers, and in the texts of oauth and
// tls:
//
//	${VAR}, ${VAR:-default}       of the environment; ${env:VAR} is the same
//	${userHome}                   the home directory
//	${workspaceFolder}            the project that the file is part of, else Options.Dir
//	${workspaceFolderBasename}    its last part
//	${pathSeparator}, ${/}        "/", on Windows "\"
//	${file:PATH}                  the content of a file, without the last line break
//	${cmd:COMMAND LINE}           the output of a command, without the last line break
//
// The default is used for a variable that is not set or empty, as in a shell. It may have variables itself. A server
// with a variable that is not set and has no default is skipped. "$${" stands for "${", and any other "$" for itself.
// Variables in values are not replaced again. ${userHome} and the others above take precedence over environment
// variables of these names.
//
// Relative paths begin at the file's directory, or at the directory around its .indusvx. Commands run there in the
// shell (sh -c, on Windows cmd /C), with this process's environment, no input and no terminal, for at most 10 s. The
// path of a ${file:…} may have variables and begin with "~/". Files must be regular files of at most 64 KiB, and a
// command may print at most 64 KiB. Empty values and values with a NUL are errors. Each command line runs once in a
// reading. A reading runs at most 100 command lines and reads at most 1,000 files. The file of an "envFile" has lines
// NAME=VALUE in the usual form, and nothing in it is replaced.
//
// Commands run, and files outside of the project are read, only for rows that may start. With Options.Dry this never
// happens. If a command or a file fails, the server is skipped, and its id stays taken. A file in the project must not
// be a link out of it.
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
