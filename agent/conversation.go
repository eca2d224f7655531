package agent

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

const (
	interruptedText = "Interrupted: it is unknown whether this call ran, or how far. It was not repeated. " +
		"Check the current state before you call it again."
	beginningText = "[The beginning of this conversation is missing.]"
	cutOffText    = "[Your message above was cut off: the turn was cancelled before you had finished it.]"
)

// conversation is the state that results from a list of entries. Messages of the user and the model alternate. Each
// call has its result, except calls of the last message. It is a pure function of the entries, so a resumed session has
// the same conversation. Messages that it returns never change.
type conversation struct {
	messages        []Message
	open            []Call            // calls of the model's last message that have no result yet
	recorded        map[string]string // by the id of a call of that message: its id in the entry
	results         map[string]bool   // by the id of a call: whether its result was removed
	refused         map[string]bool   // ids of calls that are left out with their results: a provider refused them
	nativeRefused   int               // the provider's own parts of messages[:nativeRefused] are left out
	usage           Usage             // of all messages
	tokens          int               // the provider's count for messages[:counted]
	countedMessages int
}

func newConversation(entries []Entry) *conversation {
	c := &conversation{results: map[string]bool{}, refused: map[string]bool{}}
	for _, e := range entries {
		c.add(e)
	}
	return c
}

func (c *conversation) add(e Entry) {
	if e.Usage != nil {
		c.usage.Add(*e.Usage)
	}
	c.drop(e.Dropped)
	c.refuse(omission{e.Refused, e.NativeRefused})
	if e.Message == nil {
		return
	}
	if e.Compacted {
		c.messages, c.open, c.tokens, c.countedMessages, c.nativeRefused = nil, nil, 0, 0, 0
	}
	if e.Message.Role == Assistant {
		c.addReply(*e.Message)
		if e.Usage != nil && e.Usage.Input > 0 {
			c.tokens, c.countedMessages = e.Usage.Input+e.Usage.Output, len(c.messages)
		}
		return
	}
	for _, p := range e.Message.Parts {
		if p.Result != nil {
			c.addResult(*p.Result)
			continue
		}
		c.interrupt()
		c.appendParts(User, p)
	}
}

// addReply adds a message of the model. The recorded message may be of a session that did not prepare it.
func (c *conversation) addReply(recorded Message) {
	c.interrupt()
	m := c.prepareReply(recorded)
	m.Partial = recorded.Partial
	if len(m.Parts) == 0 {
		return
	}
	c.open = m.Calls()
	c.recorded = map[string]string{}
	for i, call := range recorded.Calls() {
		c.recorded[c.open[i].ID] = call.ID
	}
	if c.last().Role == Assistant {
		c.appendParts(Assistant, m.Parts...)
	} else {
		c.messages = append(c.messages, m)
	}
	for _, call := range c.open {
		c.results[call.ID] = false
	}
}

// addResult adds the result of an open call, and ignores other results. Results are in the order of their calls.
func (c *conversation) addResult(r Result) {
	at := slices.IndexFunc(c.open, func(call Call) bool { return call.ID == r.ID || c.recorded[call.ID] == r.ID })
	if at < 0 {
		return
	}
	r.ID = c.open[at].ID
	c.open = slices.Delete(slices.Clone(c.open), at, at+1)
	c.appendParts(User, Part{Result: &r})
	message := &c.messages[len(c.messages)-1]
	calls := c.messages[len(c.messages)-2].Calls()
	place := func(p Part) int {
		return slices.IndexFunc(calls, func(call Call) bool { return call.ID == p.Result.ID })
	}
	slices.SortStableFunc(message.Parts, func(a, b Part) int { return cmp.Compare(place(a), place(b)) })
}

// interrupt adds a result to each open call. It states that the outcome of the call is unknown.
func (c *conversation) interrupt() {
	for _, call := range c.open {
		c.addResult(Result{ID: call.ID, Name: call.Name, Output: text.Quote(interruptedText), IsError: true})
	}
}

// appendParts adds parts to the last message if it has the role. Otherwise it adds a new message.
func (c *conversation) appendParts(role Role, parts ...Part) {
	if c.last().Role != role {
		c.messages = append(c.messages, Message{Role: role})
	}
	last := &c.messages[len(c.messages)-1]
	last.Parts = slices.Concat(last.Parts, parts) // a new slice, because callers hold the old one
}

// last returns the last message, or the zero Message if there is none.
func (c *conversation) last() Message {
	if len(c.messages) == 0 {
		return Message{}
	}
	return c.messages[len(c.messages)-1]
}

// prepareReply prepares a reply for the conversation. It makes the ids of calls unique, because results refer to calls
// by id. It makes text valid UTF-8 and removes empty parts, which providers would refuse.
func (c *conversation) prepareReply(m Message) Message {
	taken := map[string]bool{}
	var parts []Part
	for _, p := range m.Parts {
		if p.Call != nil {
			call := *p.Call
			call.ID = c.uniqueID(call.ID, taken)
			p.Call = &call
		}
		p.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
		if strings.TrimSpace(p.Text) == "" {
			p.Text = ""
		}
		if p != (Part{}) {
			parts = append(parts, p)
		}
	}
	return Message{Role: Assistant, Parts: parts}
}

func (c *conversation) uniqueID(id string, taken map[string]bool) string {
	for n := len(c.results) + len(taken); ; n++ {
		if _, known := c.results[id]; id != "" && !known && !taken[id] {
			taken[id] = true
			return id
		}
		id = "indus_" + strconv.Itoa(n)
	}
}

// view returns the messages as the model receives them. Roles alternate, and no message is empty.
func (c *conversation) view() (messages []Message) {
	for i, m := range c.messages {
		var parts []Part
		if len(messages) == 0 && m.Role == Assistant { // providers require a message of the user first
			messages = append(messages, Message{Role: User, Parts: []Part{{Text: beginningText}}})
		}
		if i > 0 && c.messages[i-1].Partial {
			parts = append(parts, Part{Text: cutOffText})
		}
		parts = append(parts, c.partsForModel(i, m)...)
		last := len(messages) - 1
		switch {
		case len(parts) == 0:
		case last >= 0 && messages[last].Role == m.Role:
			messages[last].Parts = append(messages[last].Parts, parts...)
		default:
			messages = append(messages, Message{Role: m.Role, Parts: parts, Partial: m.Partial})
		}
	}
	return messages
}
