"""A language model's texts for noise operators: requested, judged, kept, and waited for only briefly."""
