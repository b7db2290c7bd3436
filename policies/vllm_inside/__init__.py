"""Put on PYTHONPATH of vLLM's processes: holds the one package that is imported there."""
