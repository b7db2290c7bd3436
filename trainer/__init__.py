"""Learning: from completed groups in the trajectory store to new policy versions."""
