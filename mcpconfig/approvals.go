package mcpconfig

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/interop/config"
)

// CallApprovals holds how calls to indus serve wait for a person: the member "approvals" of a file.
type CallApprovals struct {
	Setting
	// Expire is how long a call waits, and then how long the decision is good. 0 means the default.
	Expire time.Duration
	// Webhook is the URL that is notified of approvals, and Secret its signing secret (whsec_ and base64). If Webhook is
	// "", there is none.
	Webhook string
	Secret  config.Secret
}

// readApprovals reads the member "approvals". A project's file must not set it: the webhook gets arguments of calls.
func readApprovals(r *valuedRow, v *hujson.Value, out *CallApprovals) {
	r.object("approvals", v, true,
		member{"expire", storeIn(&out.Expire, r.age)},
		member{"webhook", func(field string, v *hujson.Value) {
			r.object(field, v, true,
				member{"url", storeIn(&out.Webhook, r.webhookURL)},
				member{"secret", storeIn(&out.Secret, r.webhookSecret)},
			)
			if !r.skipped && (out.Webhook == "" || out.Secret == config.Secret{}) {
				r.skip(v.StartOffset, "the webhook needs \"url\" and \"secret\"", "")
			}
		}},
	)
}

// webhookURL reads an https URL. An http URL is for this machine only, because requests have arguments of calls.
func (r *valuedRow) webhookURL(field string, v *hujson.Value) string {
	text := r.value(field, v)
	u, err := url.Parse(text)
	ok := err == nil && u.Host != "" && u.User == nil
	if ok && u.Scheme == "http" {
		ip := net.ParseIP(u.Hostname())
		ok = u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	} else {
		ok = ok && u.Scheme == "https"
	}
	if !ok && !r.skipped {
		r.skip(v.StartOffset, fmt.Sprintf("%q is no https URL", field), "http is for this machine only; leave out a login")
	}
	return text
}

// webhookSecret reads a signing secret of Standard Webhooks: whsec_ and the base64 of 24 to 64 bytes.
func (r *valuedRow) webhookSecret(field string, v *hujson.Value) config.Secret {
	text := r.secret(field, v)
	encoded, ok := strings.CutPrefix(text.Reveal(), "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if (!ok || err != nil || len(key) < 24 || len(key) > 64) && !r.skipped {
		r.skip(v.StartOffset, fmt.Sprintf("%q is no signing secret", field),
			"write whsec_ and the base64 of 24 to 64 random bytes, in a variable")
	}
	return text
}
