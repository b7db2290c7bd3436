"""A capped, self-stopping dose of noise on live traffic, and its page."""
