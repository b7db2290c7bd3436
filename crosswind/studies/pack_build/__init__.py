"""Write phrase packs with a language model."""
