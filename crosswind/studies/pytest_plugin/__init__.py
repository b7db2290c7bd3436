"""The pytest plugin: tests of agents, repeated clean and under noise. It is loaded wherever pytest runs in an
environment with Crosswind, and imports the rest when a test asks for it."""
