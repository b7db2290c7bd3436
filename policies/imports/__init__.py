"""Models that others published, made into versions: from a directory, or from Hugging Face's hub."""
