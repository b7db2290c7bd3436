"""`crosswind export`, `sessions` and `store`, and the option by which commands name a store."""
