"""From completed groups in the store to micro-batches of token sequences."""
