package main

func Example() {
	main()
	// Output:
	// completed: the node has 1 payment
}
