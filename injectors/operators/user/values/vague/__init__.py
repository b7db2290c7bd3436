"""What stands in a message for a value that is left open, by the kind of value."""
