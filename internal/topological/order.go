// Package topological orders the nodes of a graph.
package topological

import "slices"

// Order orders 0 to n-1 so that each comes after its parents, otherwise
// ascending. parents calls add for each parent of i; the relation has no cycle.
// It takes time linear in nodes and edges, and no recursion.
func Order(n int, parents func(i int, add func(p int))) []int {
	order := make([]int, 0, n)
	visited := make([]uint8, n) // 1: entered, 2: ordered
	var stack []int
	push := func(p int) {
		if visited[p] == 0 {
			stack = append(stack, p)
		}
	}
	for i := range n {
		for push(i); len(stack) > 0; {
			j := stack[len(stack)-1]
			if visited[j] == 0 {
				visited[j] = 1
				top := len(stack)
				parents(j, push)
				slices.SortFunc(stack[top:], func(a, b int) int { return b - a }) // the lowest on top
				continue
			}
			stack = stack[:len(stack)-1]
			if visited[j] == 1 {
				visited[j] = 2
				order = append(order, j)
			}
		}
	}
	return order
}
