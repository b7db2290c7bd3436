"""The servers behind the gateway: which one a request goes to, how it is sent there, and how they fare."""
