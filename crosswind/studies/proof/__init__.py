"""What noise does to tasks, measured through the gateway: that they stay solvable, and how much it hurts."""
