"""How a result says that it is uncertain: a look that may be wrong in places, so that another one pays."""

from __future__ import annotations

FIELD = "uncertain"
"""The field of a JSON result."""

MARK = " [uncertain reading]"
"""The end of a plain one."""
