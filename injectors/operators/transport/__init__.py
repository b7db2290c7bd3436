"""Operators that act on a link rather than on content, and the decision which of them act on an exchange."""

from crosswind.injectors.engine.link import Settings, decide_transport

__all__ = ["Settings", "decide_transport"]
