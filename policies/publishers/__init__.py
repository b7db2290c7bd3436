"""How versions get into engines: one file per kind of engine, found by a registry."""
