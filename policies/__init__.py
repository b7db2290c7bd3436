"""Models that are served, and their versions. Imports none of the project's other packages."""
