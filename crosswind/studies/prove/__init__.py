"""`crosswind noise prove`: an oracle solves every task under every noise."""
