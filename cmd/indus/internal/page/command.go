package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/spf13/cobra"
)

// commandFlags are the flags of "indus page".
type commandFlags struct {
	at    string
	print bool
}

// NewCommand returns the command page.
func NewCommand(s show.Streams) *cobra.Command {
	var f commandFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "page [SECTION[/ACTION] [NAME=VALUE]...]", Aliases: []string{"pages"},
		SuggestFor: []string{"dashboard", "ui", "web", "open", "status"},
		Short:      "Open the page of a running \"indus serve\"", Long: pageHelp,
		Args: cobra.ArbitraryArgs, ValidArgsFunction: command.Complete(1, func(context.Context) []string {
			return show.Names(sections, func(c *section) string { return c.path + "\t" + c.title })
		}),
	})
	cmd.Flags().StringVar(&f.at, "at", "", `HOST:PORT  the address of the "indus serve", if several run (default: the one
		that was started last)`)
	cmd.Flags().BoolVar(&f.print, "print", false, "print the address with its one-time link instead of opening it")
	return cmd
}

const pageHelp = `Open the page of a running "indus serve" in the browser: its servers, calls, approvals,
changed tools, sign-ins and usage. The link is good for one use within 10 minutes, and only
you can make it: it is signed with a secret in your state directory.

With a SECTION, print the content of that section of the page as JSON. With an ACTION, do
what the button of the page does. NAME=VALUE are the fields of its form, or of the search of
the section; a wrong field of a search is an error that lists the fields.

Sections:
  servers calls approvals changes sign-ins usage try connect policy audit

Actions and their fields ([…] may be left out):
  servers/restart, servers/enable, servers/disable  server=NAME
  calls/cancel                                      id=ID
  approvals/allow, approvals/deny                   id=ID [reason=TEXT]
  changes/accept, changes/refuse                    tool=NAME@VERSION
  sign-ins/sign-in, sign-ins/sign-out               server=NAME [principal=PRINCIPAL]
  try/call                                          tool=NAME [arg/NAME=VALUE]... or args=JSON
  connect/key                                       client=CLIENT [principal=NAME] [view=VIEW]
                                                    [groups=GROUPS] [expires=TIME]
  policy/explain                                    item=ITEM action=ACTION [as=PRINCIPAL]
                                                    [groups=GROUPS] [args=JSON]
  audit/verify

A session:
  $ indus page
  indus: opened http://127.0.0.1:7332/
  $ indus page calls
  {
    "inFlight": [],
    …
  $ indus page servers/restart server=github
  indus: github is being restarted

Exit codes:
  0    ok
  1    no page is served, or it does not answer
  2    usage: flags, sections and actions`

func (f *commandFlags) run(ctx context.Context, args []string, s show.Streams) error {
	r, err := f.find(ctx)
	if err != nil {
		return &command.ExitError{Code: command.ExitFault, Err: err}
	}
	if len(args) > 0 {
		return r.request(ctx, args, s)
	}
	address := linkTo(r.Address, newLink(r.Secret, time.Now()))
	if f.print {
		return s.WriteText(address + "\n")
	}
	if err := signin.OpenBrowser(address); err != nil {
		s.Reportf("no browser can be opened here (%v); open this address on this machine:", err)
		return s.WriteText(address + "\n")
	}
	s.Reportf("opened %s/", r.Address)
	return nil
}

// find returns the page that the flags select.
func (f *commandFlags) find(ctx context.Context) (*servedPage, error) {
	all, err := findRunning(ctx)
	if err != nil {
		return nil, err
	}
	if f.at != "" {
		all = show.Where(all, func(r servedPage) bool { return strings.TrimPrefix(r.Address, "http://") == f.at })
	}
	if len(all) == 0 {
		return nil, fmt.Errorf(`no "indus serve" of yours serves a page%s; start one with "indus serve"`,
			strings.TrimSuffix(" at "+f.at, " at "))
	}
	latest := slices.MaxFunc(all, func(a, b servedPage) int { return a.Started.Compare(b.Started) })
	return &latest, nil
}

// Running returns the URLs for clients of the user's processes of indus serve that have a page.
func Running(ctx context.Context) (urls []string, err error) {
	if pagesDir() == "" {
		return nil, nil
	}
	all, err := findRunning(ctx)
	for _, r := range all {
		urls = append(urls, r.Address+"/mcp")
	}
	return urls, err
}

// answers reports whether a process still listens at the address.
func (r *servedPage) answers(ctx context.Context) bool {
	u, err := url.Parse(r.Address)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// request prints a section, or does an action.
func (r *servedPage) request(ctx context.Context, args []string, s show.Streams) error {
	name, action, isAction := strings.Cut(strings.Trim(args[0], "/"), "/")
	index := slices.IndexFunc(sections, func(c *section) bool { return c.path == name && name != "" })
	if index < 0 {
		paths := show.Names(sections[1:], func(c *section) string { return c.path })
		return command.Usagef("page %s: the sections are %s%s", args[0], strings.Join(paths, ", "),
			command.DidYouMean(name, paths))
	}
	if isAction && sections[index].actions[action] == nil {
		return command.Usagef("page %s: there is no such action in this section; see indus page -h", args[0])
	}
	form, fields := url.Values{}, strings.Fields(sections[index].fields)
	for _, word := range args[1:] {
		key, value, ok := strings.Cut(word, "=")
		switch {
		case !ok:
			return command.Usagef("page %s %s: write NAME=VALUE", args[0], word)
		case !isAction && !slices.Contains(fields, key):
			return command.Usagef("page %s: no field %q: the fields are %s", args[0], key, strings.Join(fields, ", "))
		}
		form.Add(key, value)
	}
	method, address, body := http.MethodGet, r.Address+"/"+name+"?"+form.Encode(), io.Reader(nil)
	if isAction {
		method, address, body = http.MethodPost, r.Address+"/"+name+"/"+action, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+newLink(r.Secret, time.Now()))
	if isAction {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return &command.ExitError{Code: command.ExitFault, Err: err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return &command.ExitError{Code: command.ExitFault, Err: err}
	}
	var out struct {
		Error, Done string
	}
	_ = json.Unmarshal(text, &out)
	switch {
	case res.StatusCode == http.StatusUnprocessableEntity:
		return command.Usagef("page %s: %s", args[0], out.Error)
	case res.StatusCode != http.StatusOK:
		return &command.ExitError{
			Code: command.ExitFault, Err: fmt.Errorf("page %s: %s", args[0], cmp.Or(out.Error, res.Status)),
		}
	case isAction && out.Done != "":
		s.Reportf("%s", out.Done)
		return nil
	}
	return s.WriteJSON(bytes.TrimSpace(text))
}
