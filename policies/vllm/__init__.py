"""Real vLLM: its managed environment, its server's life, and what runs inside it."""
