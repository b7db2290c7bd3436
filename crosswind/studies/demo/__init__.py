"""`crosswind demo`: the whole loop on one machine, made of our own commands as child processes."""
