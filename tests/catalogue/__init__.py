"""The catalogue of noise: what there is to be, and the table of what there is."""
