package relaysync

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	redacted     = "[redacted]"
	unknownError = "unknown error"
	// tail is how many characters of a secret, at the end of a text that may have been cut there,
	// are enough to be redacted.
	tail = 4
	// mostSlashes is how many backslashes before one character are read as its escape. A JSON
	// text within six others has 64.
	mostSlashes = 64
)

// Redact replaces every occurrence of a secret in text: in upper or lower case, in any form that
// JSON can write it, also where one JSON text quotes another, and where the text ends within the
// secret after 4 or more of its characters. A host calls it with the secrets that only the host
// knows (the secret of a relay, the Authorization) and with the credentials that it sent, before
// it shortens a text: see [Relay.Redact].
func Redact(text string, secrets ...string) string {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return s == "" })
	if len(secrets) == 0 {
		return text
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // the longer one first
	var b strings.Builder
	for i := 0; i < len(text); {
		end := 0
		for _, s := range secrets {
			if end = match(text, i, s); end > 0 {
				break
			}
		}
		if end > 0 {
			b.WriteString(redacted)
			i = end
			continue
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		b.WriteString(text[i : i+n])
		i += n
	}
	return b.String()
}

// match returns where an occurrence of secret that begins at i ends, 0 if there is none.
func match(text string, i int, secret string) int {
	matched := 0
	for rest := secret; rest != ""; matched++ {
		if i >= len(text) {
			if matched >= tail {
				return len(text)
			}
			return 0
		}
		want, n := utf8.DecodeRuneInString(rest)
		rest = rest[n:]
		next, ok := matchRune(text, i, want)
		if !ok {
			// The cut may be within an escape sequence.
			if matched >= tail && text[i] == '\\' && !strings.ContainsAny(text[i:], " \n\"") && len(text)-i < 16 {
				return len(text)
			}
			return 0
		}
		i = next
	}
	return i
}

// matchRune reads one character at i, which may be escaped, and compares it.
func matchRune(text string, i int, want rune) (next int, ok bool) {
	got, n := utf8.DecodeRuneInString(text[i:])
	if got != '\\' {
		return i + n, fold(got, want)
	}
	j := i
	for j < len(text) && text[j] == '\\' && j-i < mostSlashes {
		j++
	}
	if want == '\\' {
		return j, true
	}
	if j >= len(text) {
		return i, false
	}
	if text[j] == 'u' {
		if r, end, ok := escapedRune(text, i, j); ok && fold(r, want) {
			return end, true
		}
		return i, false
	}
	got, n = utf8.DecodeRuneInString(text[j:])
	if k := strings.IndexRune("nrtbf", got); k >= 0 {
		got = rune("\n\r\t\b\f"[k])
	}
	return j + n, fold(got, want)
}

// escapedRune reads \uXXXX, or a pair of them, after the backslashes from i to j.
func escapedRune(text string, i, j int) (r rune, end int, ok bool) {
	r, ok = hex4(text, j+1)
	if !ok {
		return 0, 0, false
	}
	end = j + 5
	if r >= 0xd800 && r < 0xdc00 {
		slashes := text[i:j]
		if low, ok := hex4(text, end+len(slashes)+1); ok && strings.HasPrefix(text[end:], slashes+"u") {
			return (r-0xd800)<<10 + (low - 0xdc00) + 0x10000, end + len(slashes) + 5, true
		}
	}
	return r, end, true
}

func hex4(text string, at int) (rune, bool) {
	if at+4 > len(text) {
		return 0, false
	}
	n, err := strconv.ParseUint(text[at:at+4], 16, 16)
	return rune(n), err == nil
}

func fold(a, b rune) bool { return a == b || unicode.ToLower(a) == unicode.ToLower(b) }
