"""The same request in other words."""
