"""Live traffic: the proxy between agents and their model, tools and users."""
