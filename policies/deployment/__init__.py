"""Publishing versions to engines, confirming them against the reference weights, and rolling back."""
