package withdrawal

import (
	"slices"
	"strconv"
	"strings"

	"github.com/settlehq/settle/statemachine"
)

// MaxTold is how many words [Told] has at most.
const MaxTold = 32

// Told is the list of claims that evidence has made about a request beside its record, oldest first, as words with a
// space between two. A word is a claim, a colon and a hash as it came: "mined:0xab12". If a signer named another's
// transaction, the word also has the fence of the dispatch that it answered: "taken@3:0xab12". A claim that is in the
// list is no news when it comes again, in whatever spelling of the hash. A new claim that no longer fits adds the word
// "more", and then nothing is news until [Acknowledged] covers "more" too and takes it away. From then on every claim
// that is not in the list is news, even one told before, since no list remembers it. See [Told.More].
type Told string

// toldMore is the last word of a list to which more was news than it holds.
const toldMore = "more"

// More reports whether more was told than [MaxTold] words since the latest [Acknowledged].
func (t Told) More() bool { return t == toldMore || strings.HasSuffix(string(t), " "+toldMore) }

// settled is the list without the word for what it does not remember.
func (t Told) settled() Told {
	if !t.More() {
		return t
	}
	return Told(strings.TrimSuffix(strings.TrimSuffix(string(t), toldMore), " "))
}

// told is a word of [Told].
type told struct {
	claim IncidentClaim // ClaimMined, ClaimSent or ClaimTaken
	fence int64         // of the dispatch that was answered, with ClaimTaken
	hash  string
}

func (t told) String() string {
	claim := t.claim.String()
	if t.fence != 0 {
		claim += "@" + strconv.FormatInt(t.fence, 10)
	}
	return claim + ":" + statemachine.Word(t.hash)
}

func (t Told) words() []string {
	return strings.FieldsFunc(string(t), func(r rune) bool { return r == ' ' })
}

// list returns what the words say. A word that no step has written has no claim.
func (t Told) list() (all []told) {
	for _, word := range t.words() {
		name, hash, _ := strings.Cut(word, ":")
		name, fence, _ := strings.Cut(name, "@")
		one := told{hash: statemachine.Unword(hash)}
		_ = one.claim.UnmarshalText([]byte(name))
		one.fence, _ = strconv.ParseInt(fence, 10, 64)
		all = append(all, one)
	}
	return all
}

// Says reports whether evidence has made a claim, of any hash. After a refund the list has
// only what was said since.
func (t Told) Says(claim IncidentClaim) bool {
	return slices.ContainsFunc(t.list(), func(known told) bool { return known.claim == claim })
}

func (t Told) has(news told) bool {
	return t.More() || slices.ContainsFunc(t.list(), func(known told) bool {
		return known.claim == news.claim && known.fence == news.fence && statemachine.SameHash(known.hash, news.hash)
	})
}

func (t Told) with(news told) Told {
	if t == "" {
		return Told(news.String())
	}
	if len(t.words()) >= MaxTold {
		return t + " " + toldMore
	}
	return t + " " + Told(news.String())
}
