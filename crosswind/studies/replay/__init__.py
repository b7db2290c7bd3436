"""What a policy was sent, computed again from the record, and its answers asked for again."""
