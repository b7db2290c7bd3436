"""`crosswind noise evolve`: search for the noise that hurts an agent most at a given dose."""
