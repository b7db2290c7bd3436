"""Requests that tools hardly ever serve, each with the words by which one would be told that does."""

from __future__ import annotations

ERRANDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Could you also water the plants on my balcony?", ("water", "plant", "garden")),
    ("Could you also call my grandmother and say hello?", ("call", "phone", "dial", "message")),
    ("Please also sing me a lullaby tonight.", ("sing", "music", "audio", "song")),
    ("Could you also walk my dog around the block?", ("dog", "pet", "walk")),
    ("Please also iron my shirts for the party.", ("iron", "laundry", "clean")),
    ("Could you also repair the dripping tap in my bathroom?", ("repair", "plumb", "maintenance")),
    ("Please also bake a cake for my neighbours.", ("bake", "cake", "recipe", "cook", "food")),
    ("Could you also find out who lived in my flat in the old days?", ("resident", "history", "tenant")),
    ("Please also paint my kitchen in a warm colour.", ("paint", "decor", "renovat")),
    ("Could you also teach my parrot a new word?", ("parrot", "pet", "teach", "train")),
)

LEAVES_FREE = "If you have no means for that, leave it; my actual request is what counts."
"""How the user marks the extra wish as one that may be left."""
