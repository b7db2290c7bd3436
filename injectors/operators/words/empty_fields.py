"""Fields that systems send along without a value, by the kind of system: they say nothing."""

from __future__ import annotations

import re
from typing import Any


def _fields(nothing: Any, names: str) -> tuple[tuple[str, Any], ...]:
    return tuple((name, nothing) for name in names.split())


TROUBLE = (
    *_fields(None, "error error_code error_message error_details failure_reason"),
    *_fields([], "errors warnings issues"),
)
"""Of an answer that went well; none beside one that speaks of an error."""

SERVICE = (
    *_fields([], "messages notices annotations hints alerts links notifications"),
    *_fields({}, "meta metadata _links extras attributes"),
    *_fields(None, "details additional_info message notice"),
)
"""Of any service's answer."""

COMMAND = (
    *_fields("", "stderr error_output"),
    *_fields(None, "error error_message exception error_code"),
    *_fields([], "warnings errors messages"),
    *_fields(False, "truncated timed_out interrupted is_error"),
)
"""Of a command's answer."""

DEVICE = (
    *_fields([], "alerts warnings faults fault_codes error_codes pending_commands active_warnings notices"),
    *_fields(None, "error fault_code error_message diagnostic_code last_error error_code"),
    *_fields([], "messages errors trouble_codes alarms"),
)
"""Of a device's answer."""

RECORD = (
    *_fields([], "tags labels attachments flags keywords related_ids references media external_links groups"),
    *_fields([], "custom_tags linked_items related_items links documents"),
    *_fields({}, "metadata custom_fields properties extra user_data attributes additional_data"),
    *_fields(None, "notes external_id updated_by parent_id archived_at internal_note legacy_id remarks"),
    *_fields(None, "source_id group_id sort_order merged_into approved_by reviewed_by"),
    *_fields(None, "external_reference import_id sync_id internal_reference"),
    *_fields("", "memo internal_code annotation internal_comment"),
)
"""Of a record."""

FILE = _fields(None, "locked_by")
"""Of a file's or document's record."""

MEANINGS = tuple(
    frozenset(names.split())
    for names in (
        "error errors error_code error_codes error_message error_details error_output failure_reason "
        "exception stderr last_error fault_code faults fault_codes diagnostic_code trouble_codes issues "
        "is_error",
        "warnings alerts alarms active_warnings",
        "message messages notice notices notifications annotations hints additional_info details",
        "meta metadata extras extra attributes properties custom_fields user_data additional_attributes "
        "additional_data",
        "links _links external_links references related_ids linked_items related_items",
        "tags labels flags keywords custom_tags groups group_id",
        "attachments media documents",
        "notes internal_note remarks memo annotation internal_comment",
        "external_id legacy_id source_id import_id sync_id external_reference internal_reference "
        "internal_code",
        "updated_by approved_by reviewed_by",
        "truncated timed_out interrupted",
    )
)
"""Names that say the same: a system has at most one of them."""

AMISS = re.compile(r"err|fail|warn|alert|invalid|not found|fault|denied", re.IGNORECASE)
"""What an answer that didn't go well says."""

ECHOES = """
    request params parameters request_params input query_params arguments inputs request_parameters
""".split()
"""Fields in which services repeat what they were asked."""
