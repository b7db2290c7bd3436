"""Policy versions on disk: files, registry, journal and adapters."""
