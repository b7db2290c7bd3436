"""What a user says beside the request."""
