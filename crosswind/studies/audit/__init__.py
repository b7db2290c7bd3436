"""Check the guard's guarantees again, from a store alone and with checkers of their own."""
