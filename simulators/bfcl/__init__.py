"""The Berkeley Function Calling Leaderboard: its tasks, simulators and checkers, out of its own package."""
