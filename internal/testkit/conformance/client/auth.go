package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/indusagi/indus/oauth"
)

// metadataDocument is the URL that the suite accepts as the client's metadata document.
const metadataDocument = "https://conformance-test.local/client-metadata.json"

// newAuth returns a client that signs in with the data of the scenario's context.
func newAuth(told string) (*oauth.Client, error) {
	var known struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		Issuer       string `json:"issuer"`
		Key          string `json:"private_key_pem"`
		IDToken      string `json:"idp_id_token"`
		Provider     string `json:"idp_issuer"`
		ProviderID   string `json:"idp_client_id"`
	}
	if told != "" {
		if err := json.Unmarshal([]byte(told), &known); err != nil {
			return nil, err
		}
	}
	o := &oauth.Options{
		Interact: &oauth.Loopback{Open: visit}, MetadataDocument: metadataDocument,
		ClientID: known.ClientID, ClientSecret: oauth.NewSecret(known.ClientSecret), Issuer: known.Issuer, Key: oauth.NewSecret(known.Key),
	}
	switch {
	case known.IDToken != "":
		o.Grant = oauth.TokenExchange
		o.Exchange = &oauth.Exchange{Provider: known.Provider, ClientID: known.ProviderID, Subject: func(context.Context, string) (oauth.Secret, string, error) {
			return oauth.NewSecret(known.IDToken), oauth.TypeIDToken, nil
		}}
	case known.ClientID != "" && known.Issuer == "" && cmp.Or(known.ClientSecret, known.Key) != "":
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
