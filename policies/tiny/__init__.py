"""The small model that learns on a laptop: its shape, its tokenizer and the directory it lives in."""
