"""Text transcripts: agents that write calls of tools and their results as text of messages.

Each format is one module in `formats`, with a `FORMAT`.
"""
