"""Whether the guard kept its word: its guarantees, derived anew from a store by checkers of their own."""
