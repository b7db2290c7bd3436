"""`crosswind noise evolve`: a search for the noise that an agent bears least, at a dose that is given."""
