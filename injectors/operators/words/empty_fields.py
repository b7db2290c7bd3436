"""Fields that systems send along without a value, by the kind of system: they say nothing."""

from __future__ import annotations

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
    *_fields(None, "locked_by source_id group_id sort_order merged_into approved_by reviewed_by"),
    *_fields(None, "external_reference import_id sync_id internal_reference"),
    *_fields("", "memo internal_code annotation internal_comment"),
)
"""Of a record."""

ECHOES = """
    request params parameters request_params input query_params arguments inputs request_parameters
""".split()
"""Fields in which services repeat what they were asked."""
