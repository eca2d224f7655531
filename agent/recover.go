package agent

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// refusesContent reports whether a provider refuses a request for its size or its content.
func refusesContent(e *ProviderError) bool {
	return e.TooLong || e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusBadRequest ||
		e.Status == http.StatusUnprocessableEntity
}

// recovery finds the part of a conversation that a provider refuses. A conversation that keeps such a part would fail
// for ever.
type recovery struct {
	*turn
	reduced  bool           // results were removed
	first    *ProviderError // the first refusal for which parts are left out
	trials   []omission     // what to leave out next
	omission omission       // what the current request leaves out
}

// omission is a part of a conversation that a request leaves out.
type omission struct {
	calls  []string // with their results
	native bool     // the provider's own parts of all messages
}

// reduce decides what the next request leaves out. If nothing is left to leave out, it returns the cause.
//
// If the conversation is too large, reduce removes all removable results. If the refusal is about the conversation, it
// removes the results with images, because one image may be broken or of a kind that this model refuses. Both happen
// once per message. If the provider still refuses, reduce leaves out calls with their results, in at most four further
// requests: see suspects. These calls are removed only if the provider then accepts the request: see keep.
func (r *recovery) reduce(ctx context.Context, cause *ProviderError) error {
	tooLarge := cause.TooLong || cause.Status == http.StatusRequestEntityTooLarge
	ofImages := aboutImages().MatchString(cause.Message)
	ids := r.conversation.removableResults(!tooLarge)
	switch {
	case !tooLarge && !ofImages && !isAboutHistory(cause.Message):
		return cause
	case !r.reduced && r.first == nil && len(ids) > 0:
		r.reduced = true
		return r.removeResults(ctx, ids)
	case tooLarge:
		return fmt.Errorf("%w: begin a new conversation, or use a model that takes more (%w)", ErrFull, cause)
	case r.first == nil && ofImages:
		return cause // no image is left
	case r.first == nil:
		r.first, r.trials = cause, r.conversation.suspects(cause.Message)
	}
	if len(r.trials) == 0 {
		return r.first
	}
	r.omission, r.trials = r.trials[0], r.trials[1:]
	return nil
}

// isAboutHistory reports whether a refusal may be about the messages of a conversation. A refusal that names a message
// is. So is a refusal that has words of messages and calls, or no reason, unless it names another part of the request.
func isAboutHistory(reason string) bool {
	return namesMessage().MatchString(reason) ||
		!namesOther().MatchString(reason) && (ofMessages().MatchString(reason) || vague().MatchString(reason))
}

var (
	// namesMessage matches the path of a message in a request: "messages.2.content", "messages[2]", "contents[2]".
	namesMessage = text.Pattern(`(?i)\b(messages?|contents|input)['"]?(\.|\.?\[| at index )\s*\d`)
	// namesOther matches words of refusals that no change of the messages can prevent.
	namesOther = text.Pattern(`(?i)credit|billing|balance|payment|quota|api.?key|authenti|authoriz|permission|` +
		`account|organi[sz]ation|region|max\w*[ _]tokens|(output|budget)[ _]tokens|temperature|top_[pk]|penalty|effort|` +
		`thinking\.(type|budget|enabled)|response_format|\bstream|header|content-type|\bsystem\b|` +
		`tool.?choice|parallel.tool|\btools?['"]?(\.|\[)\s*\d|\btools: |declaration|function.parameters|schema|` +
		`supports? (tool|function)|(tools?|functions?)( use| call(s|ing)?)? (is|are)(n't| not) |` +
		`model .{0,60}(not |n't )(found|exist|available|supported)|(no such|unknown|invalid) model|` +
		`(unsupported|unknown|unrecognized|unexpected) (parameter|value|name|field|argument|keyword|request)`)
	// ofMessages matches words of refusals of messages, calls, results and their texts.
	ofMessages = text.Pattern(`(?i)tool.?(use|result|call|message|response)|function.?(call|response)|message|` +
		`\broles?\b|content|argument|surrogate|utf-?8|unicode|json|\bpars(e|ing)|template|jinja|thinking|thought|` +
		`reasoning|signature|image|\bvision|media|base64|whitespace`)
	// vague matches refusals without a reason.
	vague = text.Pattern(`(?i)^\W*((provider returned|unknown|client|an?) )*(bad request|invalid[_ ]request([_ ]error)?|` +
		`invalid[_ ]argument|error|request contains an invalid argument|(the )?request (is|was) (invalid|malformed))?\W*$`)
	aboutImages = text.Pattern(`(?i)image|\bvision\b`)
	// aboutNative matches refusals of the provider's own parts of a message.
	aboutNative = text.Pattern(`(?i)thinking|thought|reasoning|signature`)
)

// keep removes the parts that the accepted request left out.
func (r *recovery) keep(ctx context.Context) error {
	if r.first == nil {
		return nil
	}
	if err := r.record(ctx, Entry{Refused: r.omission.calls, NativeRefused: r.omission.native}); err != nil {
		return err
	}
	r.notify(Event{Kind: EventCompact, Dropped: len(r.omission.calls), Text: r.first.Message})
	return nil
}

// minNamed is the length of the shortest id by which a refusal can name a call. A shorter one may be part of a word.
const minNamed = 6

// suspects returns the parts to leave out, one for each attempt: the parts that the refusal names, or else the calls of
// the last message, because the provider has accepted the earlier ones. These are each of two calls, then all of the
// message. The last attempt is without any call of the conversation, for a conversation that another provider began.
func (c *conversation) suspects(reason string) (trials []omission) {
	var all, named []string
	native := false
	for i, m := range slices.Backward(c.messages) {
		var ids []string
		for _, p := range m.Parts {
			native = native || p.Native != nil && i >= c.nativeRefused
			if p.Call == nil || c.refused[p.Call.ID] {
				continue
			}
			ids = append(ids, p.Call.ID)
			if len(p.Call.ID) >= minNamed && strings.Contains(reason, p.Call.ID) {
				named = append(named, p.Call.ID)
			}
		}
		if all == nil && len(ids) == 2 {
			trials = append(trials, omission{calls: ids[:1]}, omission{calls: ids[1:]})
		}
		if all == nil && ids != nil {
			trials = append(trials, omission{calls: ids})
		}
		all = append(all, ids...)
	}
	if native && aboutNative().MatchString(reason) {
		trials = []omission{{native: true}}
	} else if len(named) > 0 {
		trials = []omission{{calls: named}}
	}
	if len(trials) == 0 || len(all) > len(trials[len(trials)-1].calls) {
		trials = append(trials, omission{calls: all, native: native})
	}
	return trials
}

// without returns the conversation as it is if these parts are refused.
func (c *conversation) without(o omission) *conversation {
	if len(o.calls) == 0 && !o.native {
		return c
	}
	trial := *c
	trial.refused = maps.Clone(c.refused)
	trial.refuse(o)
	return &trial
}

// refuse leaves parts out of requests from now on.
func (c *conversation) refuse(o omission) {
	for _, id := range o.calls {
		c.refused[id] = true
	}
	if o.native {
		c.nativeRefused = len(c.messages)
	}
}
