package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/indusagi/indus/auth/oauth"
)

// metadataDocument is the URL that the suite accepts as the client's metadata document.
const metadataDocument = "https://conformance-test.local/client-metadata.json"

// newAuth returns a client that signs in with the data of the scenario's context.
func newAuth(told string) (*oauth.Client, error) {
	var credentials struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		Issuer       string `json:"issuer"`
		Key          string `json:"private_key_pem"`
		IDToken      string `json:"idp_id_token"`
		Provider     string `json:"idp_issuer"`
		ProviderID   string `json:"idp_client_id"`
	}
	if told != "" {
		if err := json.Unmarshal([]byte(told), &credentials); err != nil {
			return nil, err
		}
	}
	o := &oauth.Options{
		Interact: &oauth.Loopback{Open: visit}, MetadataDocument: metadataDocument,
		ClientID: credentials.ClientID, ClientSecret: oauth.NewSecret(credentials.ClientSecret), Issuer: credentials.Issuer,
		Key: oauth.NewSecret(credentials.Key),
	}
	switch {
	case credentials.IDToken != "":
		o.Grant = oauth.TokenExchange
		o.Exchange = &oauth.Exchange{Provider: credentials.Provider, ClientID: credentials.ProviderID,
			Subject: func(context.Context, string) (oauth.Secret, string, error) {
				return oauth.NewSecret(credentials.IDToken), oauth.TypeIDToken, nil
			}}
	case credentials.ClientID != "" && credentials.Issuer == "" && cmp.Or(credentials.ClientSecret, credentials.Key) != "":
		o.Grant = oauth.ClientCredentials
	}
	return oauth.New(o)
}

// visit requests the address in place of a browser. The suite's authorization servers consent
// without a page.
func visit(ctx context.Context, authorize string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, authorize, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
