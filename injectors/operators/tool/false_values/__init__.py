"""False facts, figures and states in results, and stale ones, and what may stand in a value's place."""
