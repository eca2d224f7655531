package agent

import (
	"fmt"
	"slices"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

// The provider counts the tokens of the conversation up to its last reply. Later tokens are estimated. Results are
// removed many at a time, because each removal invalidates the provider's cache of the conversation.
const (
	imageTokens   = 1600 // about the most tokens that a provider counts for one image
	messageTokens = 8    // for each message and part

	removeAbove     = 80 // percent of the budget: above this, results are removed
	removeUntil     = 50 // percent of the budget: results are removed down to this
	minSaving       = 10 // percent of the budget: if less would be saved, nothing is removed
	newestResults   = 4  // the newest results stay, as do results that the model has not seen yet
	minResultSaving = 60 // tokens: a result stays if its removal saves no more
)

// estimate returns the approximate number of tokens of a request.
func (c *conversation) estimate(system string, tools []toolbox.Descriptor) int {
	sum := c.tokens
	if c.countedMessages == 0 {
		sum = len(system) / text.BytesPerToken
		for _, d := range tools {
			sum += (len(d.Name) + len(d.Description) + len(d.Parameters)) / text.BytesPerToken
		}
	}
	for i, m := range c.messages[c.countedMessages:] {
		for _, p := range c.partsForModel(c.countedMessages+i, m) {
			sum += tokensOf(p)
		}
	}
	return sum
}

func tokensOf(p Part) int {
	n := len(p.Text)
	if p.Call != nil {
		n += len(p.Call.Name) + len(p.Call.Input)
	}
	if p.Native != nil {
		n += len(p.Native.JSON)
	}
	images := 0
	if p.Result != nil {
		n, images = len(p.Result.Output), len(p.Result.Images)
	}
	return messageTokens + n/text.BytesPerToken + images*imageTokens
}

// partsForModel returns the parts of message i as models receive them. A note replaces a removed result, and a refused
// call with its result. If all calls of a message are refused, the provider's own parts of it are left out too.
func (c *conversation) partsForModel(i int, m Message) (parts []Part) {
	calls := m.Calls()
	kept := slices.DeleteFunc(slices.Clone(calls), func(call Call) bool { return c.refused[call.ID] })
	for _, p := range m.Parts {
		switch {
		case p.Call != nil && c.refused[p.Call.ID],
			p.Native != nil && (i < c.nativeRefused || len(kept) == 0 && len(calls) > 0):
			continue
		case p.Result != nil && c.refused[p.Result.ID]:
			p = Part{Text: refusalNote(*p.Result)}
		case p.Result != nil && c.results[p.Result.ID]:
			p.Result = removalNote(*p.Result)
		}
		parts = append(parts, p)
	}
	return parts
}

func refusalNote(r Result) string {
	return fmt.Sprintf("[Your call of %s was taken out with its result, because your provider refused a request with "+
		"them. Do not repeat it unchanged.]", text.Clip(text.OneLine(r.Name), 100))
}

func removalNote(r Result) *Result {
	size := fmt.Sprintf("%d bytes", len(r.Output))
	if n := len(r.Images); n > 0 {
		size += fmt.Sprintf(" and %d images, which you may not be able to see", n)
	}
	note := fmt.Sprintf("[The result of %s was taken out to make room: %s. "+
		"If you still need it, call the tool again, and ask for less.]", r.Name, size)
	return &Result{ID: r.ID, Name: r.Name, IsError: r.IsError, Output: text.Quote(note)}
}

// tokensSaved returns the number of tokens saved by the removal of a result, or 0 if the saving is too small.
func tokensSaved(r Result) int {
	if n := tokensOf(Part{Result: &r}) - tokensOf(Part{Result: removalNote(r)}); n > minResultSaving {
		return n
	}
	return 0
}

// visibleResults returns the results that models receive whole, oldest first.
func (c *conversation) visibleResults(messages []Message) (results []Result) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Result != nil && !c.results[p.Result.ID] && !c.refused[p.Result.ID] {
				results = append(results, *p.Result)
			}
		}
	}
	return results
}

// resultsToRemove returns the ids of the results to remove from a conversation of this size. It returns none if the
// conversation fits, or if the removal would save little.
func (c *conversation) resultsToRemove(tokens, budget int) (ids []string) {
	if tokens <= budget/100*removeAbove {
		return nil
	}
	saved := 0
	removable := c.visibleResults(c.messages[:len(c.messages)-1])
	for _, r := range removable[:max(0, len(removable)-newestResults)] {
		if tokens-saved <= budget/100*removeUntil {
			break
		}
		if n := tokensSaved(r); n > 0 {
			ids = append(ids, r.ID)
			saved += n
		}
	}
	if saved < budget/100*minSaving {
		return nil
	}
	return ids
}

// removableResults returns all results with images. If images is false, it also returns results that would save tokens.
func (c *conversation) removableResults(images bool) (ids []string) {
	for _, r := range c.visibleResults(c.messages) {
		if len(r.Images) > 0 || !images && tokensSaved(r) > 0 {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// drop removes results from the requests to models. Their tokens are still counted until the provider's next count.
func (c *conversation) drop(ids []string) {
	for _, id := range ids {
		if _, known := c.results[id]; known {
			c.results[id] = true
		}
	}
}
