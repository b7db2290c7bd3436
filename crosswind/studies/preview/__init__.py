"""What a profile does to one conversation, message by message."""
