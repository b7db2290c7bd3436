"""The trajectory record and its stores: what was received, sent, produced, delivered and injected."""
