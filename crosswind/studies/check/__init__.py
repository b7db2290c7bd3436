"""What a profile will do to given traffic, before any traffic sees it."""
