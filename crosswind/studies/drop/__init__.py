"""Figures for people and for other programs: text, Markdown, CSV, JSON, JUnit and one HTML page."""
