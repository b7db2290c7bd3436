"""Playing episodes through the gateway, one or many at once."""
