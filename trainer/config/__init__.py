"""Settings of a training run, and the presets."""
