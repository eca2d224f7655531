package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/schema/internal/check"
	"github.com/indusagi/indus/schema/rule"
)

// Sources of rules that come from this package, and from no provider.
var (
	sourceSize   = asConservative(documentedAt("https://pkg.go.dev/github.com/indusagi/indus/schema#Limits"))
	sourceGrowth = asConservative(documentedAt("https://github.com/indusagi/indus/blob/main/docs/context.md"))
)

// Check returns the parts of a schema that the profile's consumer would not accept, in the order of the document. It
// returns nil if the consumer accepts the schema. Faults of the whole schema, such as its number of properties, come
// last. A missing keyword is reported before the keywords of the same schema.
//
// Check is written from [Profile.Rules]. Inside a refused keyword, it checks only the form of values. It does not enter
// a schema beyond [Limits], and it stops after 1,000 findings or a mebibyte of findings. [Original] and [Seed] have no
// rules, so Check requires only a JSON object within bounds.
func Check(raw json.RawMessage, p *Profile) []rule.Finding {
	top, err := readTree(raw)
	if err == nil {
		return check.Schema(top, raw, p.checkable())
	}
	message := strings.TrimPrefix(err.Error(), "schema: ")
	limitErr, isLimit := errors.AsType[*LimitError](err)
	if !isLimit {
		return []rule.Finding{check.SourceJSON.Finding("", rule.JSON, message)}
	}
	path := limitErr.Pointer
	if strings.HasSuffix(path, "…") { // a clipped pointer leads nowhere
		path = ""
	}
	return []rule.Finding{sourceSize.Finding(path, rule.Size, message)}
}

// CheckHidden reports characters that a model reads but no person sees, in a tool's description and in every string and
// name of its schema. These are control characters other than line feed and tab, and characters that change the
// direction of text. Invisible characters count too, unless a script or an emoji needs them. No provider refuses such
// characters. Paths lead into the schema; "" is the description.
func CheckHidden(description string, raw json.RawMessage) []rule.Finding {
	if top, err := readTree(raw); err == nil {
		return check.Hidden(description, top)
	}
	return check.Hidden(description, nil)
}

// CheckTool reports the faults for which the profile's consumer would refuse a tool's name or description. It returns
// nil if the consumer accepts both. It does not report hidden characters; see [CheckHidden]. Paths are "". Original and
// Seed have no rules.
func CheckTool(name, description string, p *Profile) []rule.Finding {
	if rules := p.checkable(); rules != nil {
		return check.Tool(name, description, rules)
	}
	return nil
}

// CheckCount adds a finding if n tools exceed the limit of one request to the profile's consumer.
func CheckCount(n int, p *Profile) []rule.Finding {
	rules := p.Rules()
	return check.Count(n, &rules)
}

// CheckRequest checks all tools of one request against the limits of the profile's consumer, given their adapted
// schemas. It checks the number of tools and the totals in [rule.Limits].
func CheckRequest(schemas []json.RawMessage, p *Profile) []rule.Finding {
	rules := p.Rules()
	var trees []*node
	if rules.Limits.Together {
		for _, raw := range schemas {
			if top, err := readTree(raw); err == nil {
				trees = append(trees, top)
			}
		}
	}
	return append(check.Count(len(schemas), &rules), check.Request(schemas, trees, &rules)...)
}

// CheckGrowth reports an adapted schema that is larger than its original by more than half and by more than 4 KB. Every
// request to a model contains the schema. No provider refuses it. The message gives sizes in tokens, estimated at four
// bytes each.
func CheckGrowth(original, adapted json.RawMessage) []rule.Finding {
	before, after := jsontree.CompactSize(original), jsontree.CompactSize(adapted)
	if !growsBeyond(before, after, referenceLevels[0].percent) {
		return nil
	}
	return []rule.Finding{sourceGrowth.Finding("", rule.Size,
		fmt.Sprintf("the schema grows from about %d to %d tokens for models", before/text.BytesPerToken,
			after/text.BytesPerToken))}
}
