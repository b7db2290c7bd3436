"""Values that a user leaves vague or contradicts."""
