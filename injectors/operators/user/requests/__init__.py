"""What a user asks for, read from the message."""
