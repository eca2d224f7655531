package operation_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/indusagi/indus/operation"
)

func textLogger(out *strings.Builder) *slog.Logger { return slog.New(slog.NewTextHandler(out, nil)) }

// A secret is hidden in every format, also in unexported fields, whose methods fmt cannot call.
func TestSecretsAreNotSeen(t *testing.T) {
	const text = "hunter2"
	secret := operation.NewSecret(text)
	capabilities := operation.Capabilities{"token": secret}
	reg := public("x", returning("1", nil))
	reg.Capabilities = capabilities
	r := registry(t, reg)
	private := struct {
		s operation.Secret
		c operation.Capabilities
	}{secret, capabilities}
	var log strings.Builder
	for _, v := range []any{secret, &secret, capabilities, reg, operation.Call{Capabilities: capabilities}, private, &private, r, []any{secret}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, text) || strings.Contains(got, "68756e74657232") {
				t.Errorf("%s of %T: %s", verb, v, got)
			}
		}
		textLogger(&log).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v)
	}
	raw, err := json.Marshal(capabilities)
	if err != nil || string(raw) != `{"token":"\u003csecret\u003e"}` {
		t.Errorf("%s %v", raw, err)
	}
	markup, err := xml.Marshal(secret)
	if err != nil {
		t.Error(err)
	}
	if all := log.String() + string(markup); strings.Contains(all, text) || !strings.Contains(all, "secret") {
		t.Error(all)
	}
	if secret.Reveal() != text || operation.NewSecret("").String() != "" || (operation.Secret{}).Reveal() != "" {
		t.Error("a secret is not kept")
	}
}
