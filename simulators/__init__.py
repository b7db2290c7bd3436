"""Tasks, tools and users to practise on. Speaks to the gateway over HTTP only, as any outsider does."""
