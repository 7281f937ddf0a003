package utxo

import (
	"slices"
	"sort"
)

// spends lists the transactions that spend outputs of one transaction, by output and then
// in order of arrival. The spenders of one output are found without a look at the other
// outputs, of which there can be thousands.
type spends[T any] []spend[T]

type spend[T any] struct {
	index uint32 // of the output
	by    *T
}

// of returns the spends of one output.
func (s spends[T]) of(index uint32) spends[T] {
	from := sort.Search(len(s), func(i int) bool { return s[i].index >= index })
	to := sort.Search(len(s), func(i int) bool { return s[i].index > index })
	return s[from:to]
}

// with returns s with one more, before those of its output that are later.
func (s spends[T]) with(index uint32, by *T, later func(a, b *T) bool) spends[T] {
	at := sort.Search(len(s), func(i int) bool { return s[i].index > index || s[i].index == index && later(s[i].by, by) })
	return slices.Insert(s, at, spend[T]{index, by})
}
