"""What the configuration is made of, and how it is read."""
