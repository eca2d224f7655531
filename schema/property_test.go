package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
)

// The properties of Adapt, over the corpus and over generated schemas, for every profile with rules:
//
//   - Adapt returns an error, or a schema without findings.
//   - Adapting the result again changes nothing.
//   - The same input gives the same result, and the input does not change.
//   - A valid instance of the adapted schema, restored, is a valid instance of the original. The original may refuse it
//     only at a place where a change is Lost.
//   - If no change is Narrowed, renames a property or writes free keys as a list, a valid instance of the original is
//     valid in the adapted schema too. Instances with null are left out, because there are several ways to write an
//     optional value.
//
// INDUS_SCHEMAS sets the number of generated schemas, and INDUS_SEED sets the first seed.

const someInstances = 6 // of each schema

// shaped returns the profiles with rules.
func shaped() []*schema.Profile {
	var out []*schema.Profile
	for _, p := range schema.Profiles() {
		if p != schema.Original && p != schema.Seed {
			out = append(out, p)
		}
	}
	return out
}

// rotated returns the profiles for the nth schema: every [profileStride]th profile, with a different start for each n.
func rotated(n int) []*schema.Profile {
	var out []*schema.Profile
	for i, p := range shaped() {
		if (i+n)%profileStride == 0 {
			out = append(out, p)
		}
	}
	return out
}

// tally counts the checks that were made.
type tally struct {
	schemas  int // pairs of a schema and a profile
	refused  int // pairs for which Adapt returned an error
	unusable int // other pairs with an original that is not valid in any draft
	lossless int // pairs without a Lost change
	pairs    int // instances that were restored and checked against the original
	exact    int // restored instances of pairs without a Lost change
	excused  int // restored instances that were refused at a Lost place
	forward  int // instances of originals that were checked against adapted schemas
}

// totals holds the tallies of concurrent tests.
type totals struct {
	mu sync.Mutex
	tally
}

func (c *totals) add(d tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schemas += d.schemas
	c.refused += d.refused
	c.unusable += d.unusable
	c.lossless += d.lossless
	c.pairs += d.pairs
	c.exact += d.exact
	c.excused += d.excused
	c.forward += d.forward
}

// fault is a property that does not hold, for one schema and one profile.
type fault struct {
	property string // in a few words
	detail   string
}

func (c *totals) String() string {
	return fmt.Sprintf("%d schemas, %d refused, %d read by no validator, %d lossless; %d instances, %d of them of lossless schemas, %d excused; %d the other way",
		c.schemas, c.refused, c.unusable, c.lossless, c.pairs, c.exact, c.excused, c.forward)
}

func (f *fault) String() string { return f.property + ": " + f.detail }

// subject is a schema that is checked with every profile.
type subject struct {
	schema   []byte
	original *oracle            // nil if the schema is not valid in any draft
	adapted  map[string]*oracle // by adapted schema, which several profiles may share
}

func newSubject(raw []byte) subject {
	original, err := newOracle(raw)
	if err != nil {
		original = nil
	}
	return subject{raw, original, map[string]*oracle{}}
}

func (s subject) oracle(adapted []byte) (*oracle, error) {
	if o, ok := s.adapted[string(adapted)]; ok {
		return o, nil
	}
	o, err := newOracle(adapted)
	if err == nil {
		s.adapted[string(adapted)] = o
	}
	return o, err
}

// examine checks every property.
func examine(s subject, p *schema.Profile, seed uint64) (*fault, tally) {
	c := tally{schemas: 1}
	a, f := examineAlone(s.schema, p)
	switch {
	case f != nil:
		return f, c
	case a == nil:
		c.refused++
		return examineRefusal(s, p, seed), c
	case s.original == nil:
		c.unusable++
		return nil, c
	case lostPaths(a) == nil:
		c.lossless++
	}
	adapted, err := s.oracle(a.Schema)
	if err != nil {
		return &fault{"the adapted schema is none", fmt.Sprintf("%v\nadapted: %s", err, a.Schema)}, c
	}
	if f := examineWayBack(a, adapted, s.original, seed, &c); f != nil {
		return f, c
	}
	return examineWayForth(a, adapted, s, p, seed, &c), c
}

// examineRefusal searches for valid arguments if an error states that there are none.
func examineRefusal(s subject, p *schema.Profile, seed uint64) *fault {
	_, err := schema.Adapt(s.schema, p)
	if s.original == nil || !errors.Is(err, schema.ErrUnsupported) || !strings.Contains(err.Error(), "satisf") {
		return nil
	}
	doc, _ := jsonschema.UnmarshalJSON(bytes.NewReader(s.schema))
	takes := func(v any) bool { return isArguments(v) && s.original.refuses(v) == nil }
	for _, x := range instances(rand.New(rand.NewPCG(seed, 13)), doc, takes, 1) {
		arguments, _ := json.Marshal(x)
		return &fault{"quarantined, though there are arguments", fmt.Sprintf("%v\ninstance: %s", err, arguments)}
	}
	return nil
}

// examineAlone checks the properties that need no validator. It returns nil for a refused schema.
func examineAlone(input []byte, p *schema.Profile) (*schema.Adapted, *fault) {
	before := bytes.Clone(input)
	a, err := schema.Adapt(input, p)
	if !bytes.Equal(before, input) {
		return nil, &fault{"the input was changed", string(input)}
	}
	if err != nil {
		if strings.TrimSpace(err.Error()) == "" || strings.Contains(err.Error(), "\n") {
			return nil, &fault{"the error is not one line with a reason", fmt.Sprintf("%q", err)}
		}
		return nil, nil
	}
	if err := compactObject(a.Schema); err != nil {
		return nil, &fault{"no compact JSON object", fmt.Sprintf("%v: %.500s", err, a.Schema)}
	}
	if findings := schema.Check(a.Schema, p); len(findings) > 0 {
		return nil, &fault{"refused " + string(findings[0].Rule), fmt.Sprintf("%+v\nadapted: %s", findings[0], a.Schema)}
	}
	again, err := schema.Adapt(before, p)
	if err != nil || !bytes.Equal(again.Schema, a.Schema) || again.Note != a.Note || fmt.Sprint(again.Changes) != fmt.Sprint(a.Changes) {
		return nil, &fault{"not deterministic", fmt.Sprintf("%v\n%+v\n%+v", err, again, a)}
	}
	twice, err := schema.Adapt(a.Schema, p)
	if err != nil {
		return nil, &fault{"its own result is an error", fmt.Sprintf("%v\nadapted: %s", err, a.Schema)}
	}
	if !bytes.Equal(twice.Schema, a.Schema) {
		return nil, &fault{"not idempotent", fmt.Sprintf("once:  %s\ntwice: %s", a.Schema, twice.Schema)}
	}
	return a, nil
}

// compactObject returns nil if raw is one JSON object in compact form.
func compactObject(raw []byte) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return err
	}
	if !bytes.Equal(compact.Bytes(), raw) || raw[0] != '{' {
		return fmt.Errorf("not compact, or no object")
	}
	return nil
}

// examineWayBack makes instances of the adapted schema, restores them, and checks them against the original.
func examineWayBack(a *schema.Adapted, adapted, original *oracle, seed uint64, c *tally) *fault {
	doc, _ := jsonschema.UnmarshalJSON(bytes.NewReader(a.Schema))
	paths := lostPaths(a)
	r := rand.New(rand.NewPCG(seed, 7))
	for _, x := range instances(r, doc, func(v any) bool { return adapted.refuses(v) == nil }, someInstances) {
		arguments, _ := json.Marshal(x)
		restored := a.Restore(bytes.Clone(arguments))
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(restored))
		if err != nil {
			return &fault{"restored to no JSON", fmt.Sprintf("%v\nadapted: %s\nfrom: %s\nto: %s", err, a.Schema, arguments, restored)}
		}
		c.pairs++
		if paths == nil {
			c.exact++
		}
		refusals := original.refuses(value)
		if refusals == nil {
			continue
		}
		c.excused++
		if places := unexcused(refusals, paths); len(places) > 0 {
			return &fault{
				"refused where nothing was lost: " + path.Base(places[0]),
				fmt.Sprintf("%q\nadapted: %s\nfrom: %s\nto: %s\n%v\nchanges: %+v", places, a.Schema, arguments, restored, refusals[0], a.Changes),
			}
		}
	}
	return nil
}

// examineWayForth makes instances of the original and checks them against the adapted schema, if no change narrows it.
func examineWayForth(a *schema.Adapted, adapted *oracle, s subject, p *schema.Profile, seed uint64, c *tally) *fault {
	if p.Rules().RequiredAll || slices.ContainsFunc(a.Changes, func(c schema.Change) bool {
		return c.Narrowed != "" || c.Rule == rule.Key || c.Rule == rule.Closed
	}) {
		return nil
	}
	doc, _ := jsonschema.UnmarshalJSON(bytes.NewReader(s.schema))
	r := rand.New(rand.NewPCG(seed, 11))
	takes := func(v any) bool { return isArguments(v) && s.original.refuses(v) == nil }
	for _, x := range instances(r, doc, takes, someInstances) {
		c.forward++
		if refusals := adapted.refuses(x); refusals != nil {
			arguments, _ := json.Marshal(x)
			return &fault{"narrowed in silence", fmt.Sprintf("%v\nadapted: %s\ninstance: %s\nchanges: %+v", refusals[0], a.Schema, arguments, a.Changes)}
		}
	}
	return nil
}

// isArguments reports whether a value is an object with no null in it.
func isArguments(v any) bool {
	_, isObject := v.(map[string]any)
	return isObject && !hasNull(v)
}

func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(v, hasNull)
	case map[string]any:
		for _, inner := range v {
			if hasNull(inner) {
				return true
			}
		}
	}
	return false
}

// lostPaths returns the paths of the Lost changes.
func lostPaths(a *schema.Adapted) []string {
	var paths []string
	for _, change := range a.Changes {
		if change.Lost != "" {
			paths = append(paths, change.Path)
		}
	}
	return paths
}

func TestAdaptKeepsItsPropertiesOverTheCorpus(t *testing.T) {
	var all totals
	eachAtOnce(corpus(t), func(s specimen) {
		subject := newSubject(s.schema)
		for _, p := range rotated(len(s.schema)) {
			for round := range uint64(2) {
				f, c := examine(subject, p, round)
				all.add(c)
				if f != nil {
					t.Errorf("%s: %s: %v", p.Name(), s.name, f)
					break
				}
			}
		}
	})
	t.Log(&all)
	atLeast(t, "instances", all.pairs, 3*all.schemas)
	atLeast(t, "instances of lossless schemas", all.exact, all.schemas)
	atLeast(t, "instances of originals", all.forward, all.schemas/2)
	atMost(t, "schemas that the validator cannot read", all.unusable, all.schemas/20)
}

func TestAdaptKeepsItsProperties(t *testing.T) {
	n, first := environment(t, "INDUS_SCHEMAS", uint64(fixture.Size(t, someSchemas, 2_000))), environment(t, "INDUS_SEED", 1)
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = first + uint64(i)
	}
	var all totals
	var told sync.Map // by profile and property
	eachAtOnce(seeds, func(seed uint64) {
		subject := newSubject(generated(seed).bytes())
		for _, p := range rotated(int(seed)) {
			f, c := examine(subject, p, seed)
			all.add(c)
			if f == nil {
				continue
			}
			if _, known := told.LoadOrStore(p.Name()+f.property, true); !known {
				t.Errorf("%s: seed %d: %s", p.Name(), seed, minimal(seed, p, f))
			}
		}
	})
	t.Log(&all)
	atLeast(t, "instances", all.pairs, 3*all.schemas)
	atLeast(t, "instances of lossless schemas", all.exact, all.schemas/2)
	atLeast(t, "instances of originals", all.forward, all.schemas/2)
	atMost(t, "schemas that the validator cannot read", all.unusable, all.schemas/5)
	atMost(t, "instances excused", all.excused, all.pairs/2)
}

// eachAtOnce calls do for each element, with one worker per processor.
func eachAtOnce[T any](list []T, do func(T)) {
	elements := make(chan T)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for e := range elements {
				do(e)
			}
		})
	}
	for _, e := range list {
		elements <- e
	}
	close(elements)
	workers.Wait()
}

// minimal describes a fault of a generated schema with the smallest schema that has the same fault.
func minimal(seed uint64, p *schema.Profile, f *fault) string {
	same := func(t *twig) *fault {
		if g, _ := examine(newSubject(t.bytes()), p, seed); g != nil && g.property == f.property {
			return g
		}
		return nil
	}
	small := smaller(generated(seed), 2000, func(t *twig) bool { return same(t) != nil })
	if g := same(small); g != nil {
		f = g
	}
	return fmt.Sprintf("%s\nschema: %s\n%s", f.property, small, f.detail)
}

func environment(t *testing.T, name string, standard uint64) uint64 {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		return standard
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func atLeast(t *testing.T, what string, got, want int) {
	t.Helper()
	if got < want {
		t.Errorf("%s: %d, fewer than %d: the test has nothing to stand on", what, got, want)
	}
}

func atMost(t *testing.T, what string, got, want int) {
	t.Helper()
	if got > want {
		t.Errorf("%s: %d, more than %d: the test has nothing to stand on", what, got, want)
	}
}
