package statemachine

import (
	"cmp"
	"slices"
)

// Caused are the items of a page of a list that wait for the same cause.
type Caused[C comparable] struct {
	Cause C
	Items []int // their indexes in the page, ascending
}

// ByCause groups a page of a list by what each item waits for. An item whose cause is the zero C
// waits for nothing and is left out. The largest group comes first; of groups of one size the
// group whose first item is earlier in the page does.
func ByCause[A any, C comparable](page []A, of func(*A) C) []Caused[C] {
	var all []Caused[C]
	var none C
	at := map[C]int{}
	for i := range page {
		cause := of(&page[i])
		if cause == none {
			continue
		}
		k, known := at[cause]
		if !known {
			k = len(all)
			at[cause] = k
			all = append(all, Caused[C]{Cause: cause})
		}
		all[k].Items = append(all[k].Items, i)
	}
	slices.SortStableFunc(all, func(a, b Caused[C]) int { return cmp.Compare(len(b.Items), len(a.Items)) })
	return all
}
