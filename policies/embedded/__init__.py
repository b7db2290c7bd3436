"""The in-process engine: continuous batching on one torch thread behind an OpenAI-compatible server."""
