"""Third-party operators in a separate process that can be killed, so that their failures stay there."""
