package main

func Example() {
	main()
	// Output:
	// selected 1 coin, fee 282, change 39718
	// broadcast true
	// confirmed 39718, unconfirmed 0
}
