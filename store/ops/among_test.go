package ops

import (
	"strconv"
	"testing"

	"github.com/settlehq/settle/store"
)

// A search without an index reads to the last page, and stops at the most that one text finds.
func TestASearchReadsEachPage(t *testing.T) {
	const all = 2*store.MaxPage + 1
	pages := 0
	page := func(after *int) (some []int, err error) {
		pages++
		from := 0
		if after != nil {
			from = *after
		}
		for n := from + 1; n <= all && len(some) < store.MaxPage; n++ {
			some = append(some, n)
		}
		return some, nil
	}
	found, err := among(page, func(n *int) (string, bool) { return strconv.Itoa(*n), *n == all })
	if err != nil || len(found) != 1 || found[0] != strconv.Itoa(all) || pages != 3 {
		t.Errorf("found %q in %d pages: %v", found, pages, err)
	}
	pages = 0
	if found, err = among(page, func(n *int) (string, bool) { return strconv.Itoa(*n), true }); err != nil || len(found) != maxFound || pages != 1 {
		t.Errorf("found %d in %d pages: %v", len(found), pages, err)
	}
}
