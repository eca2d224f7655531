package agent

import (
	"fmt"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

// Tokens are counted by the provider as far as it has seen the conversation, and estimated from there on. Results are taken
// out many at a time, because each time the provider's cache of the conversation is lost.
const (
	bytesPerToken = 4
	imageTokens   = 1600 // about the most that a provider counts for one
	messageTokens = 8    // around each message and part

	fullAbove  = 80 // percent of the budget: results are taken out
	untilBelow = 50 // percent: as many as it takes
	worthwhile = 10 // percent: fewer are left where they are
	keptNewest = 4  // results that are left, beside those that the model has not seen yet
	smallGain  = 60 // tokens: a result that takes no more is left
)

// estimate is about how many tokens a request takes.
func (c *conversation) estimate(system string, tools []toolbox.Descriptor) int {
	sum := c.tokens
	if c.counted == 0 {
		sum = len(system) / bytesPerToken
		for _, d := range tools {
			sum += (len(d.Name) + len(d.Description) + len(d.Parameters)) / bytesPerToken
		}
	}
	for _, m := range c.messages[c.counted:] {
		for _, p := range m.Parts {
			sum += tokensOf(c.sent(p))
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
	return messageTokens + n/bytesPerToken + images*imageTokens
}

// sent is a part as models are sent it: a note in place of a result that was taken out.
func (c *conversation) sent(p Part) Part {
	if p.Result != nil && c.results[p.Result.ID] {
		p.Result = noteOf(*p.Result)
	}
	return p
}

func noteOf(r Result) *Result {
	size := fmt.Sprintf("%d bytes", len(r.Output))
	if n := len(r.Images); n > 0 {
		size += fmt.Sprintf(" and %d images, which you may not be able to see", n)
	}
	note := fmt.Sprintf("[The result of %s was taken out to make room: %s. If you still need it, call the tool again, and ask for less.]", r.Name, size)
	return &Result{ID: r.ID, Name: r.Name, IsError: r.IsError, Output: text.Quote(note)}
}

// gain is how many tokens it saves to take a result out; 0 where that is not worth a note.
func gain(r Result) int {
	if n := tokensOf(Part{Result: &r}) - tokensOf(Part{Result: noteOf(r)}); n > smallGain {
		return n
	}
	return 0
}

// shown are the results that models are sent whole, oldest first.
func (c *conversation) shown(in []Message) (results []Result) {
	for _, m := range in {
		for _, p := range m.Parts {
			if p.Result != nil && !c.results[p.Result.ID] {
				results = append(results, *p.Result)
			}
		}
	}
	return results
}

// overfull are the results to take out of a conversation of so many tokens; none where there is room, or where that
// would bring little.
func (c *conversation) overfull(tokens, budget int) (ids []string) {
	if tokens <= budget/100*fullAbove {
		return nil
	}
	saved := 0
	seen := c.shown(c.messages[:len(c.messages)-1])
	for _, r := range seen[:max(0, len(seen)-keptNewest)] {
		if tokens-saved <= budget/100*untilBelow {
			break
		}
		if n := gain(r); n > 0 {
			ids, saved = append(ids, r.ID), saved+n
		}
	}
	if saved < budget/100*worthwhile {
		return nil
	}
	return ids
}

// removable is all results whose absence would save something, or those that have images.
func (c *conversation) removable(images bool) (ids []string) {
	for _, r := range c.shown(c.messages) {
		if len(r.Images) > 0 || !images && gain(r) > 0 {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// drop takes results out of what models are sent. What they took is counted until the provider counts again.
func (c *conversation) drop(ids []string) {
	for _, id := range ids {
		if _, known := c.results[id]; known {
			c.results[id] = true
		}
	}
}
