"""Texts of a language model for operators of noise: asked for, judged, kept, never waited for too long."""
