"""The trajectory record and its stores: what was received, sent, produced and delivered, and what was injected."""
