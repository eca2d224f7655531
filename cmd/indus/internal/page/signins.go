package page

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/interop/config"
	"maragu.dev/gomponents"
)

// signInsSection is the section at "/sign-ins".
var signInsSection = section{
	path: "sign-ins", title: "Sign-ins", fields: "page", data: readSignIns,
	actions: map[string]func(*visit) (string, error){"sign-in": beginSignIn, "sign-out": signOutUser},
}

const (
	maxSignInServers = 50  // on a page
	maxSignInUsers   = 200 // of a server
	// signInWait bounds the requests to a server and its authorization server before the address is known.
	signInWait = 30 * time.Second
)

// signInsData is the content of "/sign-ins".
type signInsData struct {
	Servers []signInServer `json:"servers"`
	pagination
}

// signInServer is a server with sign-ins, or with a need for one.
type signInServer struct {
	Server string `json:"server"`
	// Needed reports that the server is down because the sign-in is missing.
	Needed bool `json:"needed"`
	// PerCaller reports that each caller has a sign-in. Otherwise all callers share the sign-in of the local user.
	PerCaller bool `json:"perCaller"`
	// Automatic reports that indus signs in without a person.
	Automatic bool         `json:"automatic,omitempty"`
	Users     []signedUser `json:"users"`
	More      int          `json:"more,omitempty"` // users that are left out
	MaySignIn bool         `json:"maySignIn"`
}

// signedUser is a stored sign-in of a caller, or of the local user if Principal is "".
type signedUser struct {
	Principal string    `json:"principal"`
	Good      bool      `json:"good"`
	Issuer    string    `json:"issuer"`
	Scopes    []string  `json:"scopes,omitempty"`
	Until     time.Time `json:"until,omitzero"` // expiry of the present token; absent if unknown
	Renews    bool      `json:"renews"`         // without a person, after the expiry
	Text      string    `json:"text"`           // how long it is good
	MayEnd    bool      `json:"maySignOut"`
}

func readSignIns(v *visit) (*content, error) {
	all, err := v.signInServers()
	if err != nil {
		return nil, err
	}
	d := &signInsData{}
	all, d.pagination = paginate(v, all, maxSignInServers)
	d.Servers = append([]signInServer{}, all...)
	return &content{d, func() gomponents.Node { return signInsPage(v, d) }}, nil
}

// signInServers returns the servers that need a sign-in, or have one.
func (v *visit) signInServers() (all []signInServer, err error) {
	needed := map[string]bool{}
	for _, st := range v.site.Gateway.Attached().Status() {
		needed[st.Server] = st.Fault != nil && st.Fault.NeedsSignIn()
	}
	for _, s := range v.site.Gateway.Attached().Fleet.Servers() {
		if _, ok := signin.Address(s); !ok {
			continue
		}
		row, err := v.signInServer(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.ID, err)
		}
		row.Needed = needed[s.ID]
		if row.Needed || row.PerCaller || len(row.Users) > 0 {
			all = append(all, row)
		}
	}
	return all, nil
}

// signInServer returns the sign-ins to a server.
func (v *visit) signInServer(s config.Server) (signInServer, error) {
	row := signInServer{
		Server: s.ID, PerCaller: s.Pool.Per == config.PerPrincipal, Users: []signedUser{},
		Automatic: s.OAuth.Grant != "" && s.OAuth.Grant != "authorization_code",
	}
	row.MaySignIn = !row.Automatic && (v.visitor.isOperator() || row.PerCaller)
	own, err := v.site.SignIns.Status(v.Context(), s, "")
	if err != nil {
		return row, err
	}
	if own.Issuer != "" {
		row.Users = append(row.Users, v.signedUser(signin.SignedIn{Status: own}))
	}
	callers, err := v.site.SignIns.Principals(v.Context(), s)
	if err != nil {
		return row, err
	}
	row.More = max(0, len(callers)-maxSignInUsers)
	for _, one := range callers[:len(callers)-row.More] {
		row.Users = append(row.Users, v.signedUser(one))
	}
	return row, nil
}

func (v *visit) signedUser(one signin.SignedIn) signedUser {
	return signedUser{
		Principal: one.Principal, Good: one.SignedIn, Issuer: one.Issuer, Scopes: one.Scopes, Renews: one.Renews,
		Text: signin.Until(one.Status), MayEnd: v.maySignOut(one.Principal), Until: one.Expiry,
	}
}

// maySignOut reports whether the visitor may end a sign-in. The sign-in of the local user is the operator's own.
func (v *visit) maySignOut(principal string) bool { return v.visitor.isOperator() || principal != "" }

// serverOfForm returns the server that the form names.
func (v *visit) serverOfForm() (config.Server, error) {
	id := v.PostForm.Get("server")
	s, ok := v.site.Gateway.Attached().Fleet.Server(id)
	if !ok {
		return s, fmt.Errorf("no server %q is served: name one with server=NAME", id)
	}
	return s, nil
}

// signInAddress is the answer to the action "sign-in": the address that the visitor opens.
type signInAddress struct {
	Server  string `json:"server"`
	Address string `json:"address"`
	// Local reports that the browser has to be on the machine of indus.
	Local bool `json:"local"`
}

// beginSignIn begins a sign-in of the visitor: of the local user, or of an administrator as a caller.
func beginSignIn(v *visit) (string, error) {
	s, err := v.serverOfForm()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(v.Context(), signInWait)
	defer cancel()
	answer := &signInAddress{Server: s.ID, Local: true}
	switch {
	case v.visitor.isOperator():
		answer.Address, err = v.site.SignIns.Begin(ctx, s)
	case s.Pool.Per != config.PerPrincipal:
		return "", fmt.Errorf("%s: all callers share the sign-in of the operator, who signs in here or with "+
			`"indus mcp login %[1]s"`, s.ID)
	default:
		answer.Local = v.site.SignIns.Site == nil
		answer.Address, err = v.site.SignIns.Elicit(ctx, s, v.visitor.principal(), false)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %s", s.ID, command.JoinHint(s.Mask(err.Error()), signin.Advice(err, s.ID)))
	}
	v.answer = &content{answer, func() gomponents.Node { return signInPage(answer) }}
	return "", nil
}

// signOutUser removes a sign-in, as "indus mcp logout" does.
func signOutUser(v *visit) (string, error) {
	s, err := v.serverOfForm()
	if err != nil {
		return "", err
	}
	address, ok := signin.Address(s)
	principal := v.PostForm.Get("principal")
	switch {
	case !ok:
		return "", fmt.Errorf("%s has no sign-in", s.ID)
	case !v.maySignOut(principal):
		return "", errors.New("this is the sign-in of the operator, who signs out")
	}
	ctx, cancel := context.WithTimeout(v.Context(), signInWait)
	defer cancel()
	had, err := v.site.SignIns.SignOut(ctx, s, signin.SignedIn{Resource: address, Principal: principal})
	switch {
	case err != nil && had:
		return "", fmt.Errorf("%s: removed here, but not revoked at the authorization server: %s", s.ID, s.Mask(err.Error()))
	case err != nil:
		return "", fmt.Errorf("%s: %s", s.ID, s.Mask(err.Error()))
	case !had:
		return "", fmt.Errorf("%s: %s is not signed in", s.ID, describe.Caller(principal))
	}
	return fmt.Sprintf("%s: %s is signed out", s.ID, describe.Caller(principal)), nil
}
