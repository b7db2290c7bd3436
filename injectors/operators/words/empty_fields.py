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

_TECHNICAL = (
    *_fields({}, "extensions vendor_extensions"),
    *_fields({}, "debug debug_info diagnostics"),
    *_fields({}, "overrides custom_settings preferences"),
    *_fields([], "trace spans breadcrumbs"),
    *_fields([], "deprecations upgrade_hints"),
    *_fields([], "experiments variants"),
    *_fields({}, "feature_flags toggles"),
    *_fields({}, "passthrough raw_payload opaque"),
    *_fields([], "aliases nicknames alternate_names"),
)
"""Of any system's answer."""

_NEUTRAL = (
    *_TECHNICAL,
    *_fields({}, "display_options rendering presentation"),
    *_fields("", "help_text tooltip"),
    *_fields([], "footnotes disclaimers"),
    *_fields({}, "i18n translations localizations"),
    *_fields([], "subscribers watchers"),
)
"""Of an answer that is made for people to read."""

SERVICE = (
    *_fields([], "messages notices annotations hints alerts notifications"),
    *_fields([], "links"),
    *_fields({}, "meta metadata _links extras attributes"),
    *_fields(None, "details additional_info message notice"),
    *_fields([], "included expansions"),
    *_fields({}, "_embedded relationships"),
    *_fields({}, "facets aggregations"),
    *_fields([], "highlights snippets"),
    *_fields([], "suggestions recommendations"),
    *_fields({}, "headers response_headers"),
    *_fields({}, "tracking analytics"),
    *_fields([], "cache_tags surrogate_keys"),
    *_NEUTRAL,
)
"""Of any service's answer."""

COMMAND = (
    *_fields("", "stderr error_output"),
    *_fields(None, "error error_message exception error_code"),
    *_fields([], "warnings errors messages"),
    *_fields(False, "truncated timed_out interrupted is_error"),
    *_fields({}, "env environment_changes"),
    *_fields(None, "signal"),
    *_fields([], "artifacts created_files"),
    *_fields([], "hooks post_actions"),
    *_fields("", "prompt"),
    *_fields([], "background_jobs child_processes"),
    *_fields({}, "annotations labels"),
    *_fields("", "profile shell_profile"),
)
"""Of a command's answer."""

DEVICE = (
    *_fields([], "alerts warnings alarms active_warnings"),
    *_fields([], "faults fault_codes error_codes trouble_codes errors"),
    *_fields(None, "error fault_code error_message diagnostic_code last_error error_code"),
    *_fields([], "pending_commands queued_commands scheduled_actions"),
    *_fields([], "notices messages"),
    *_fields([], "event_log unread_events"),
    *_fields({}, "vendor_data telemetry_extra"),
    *_fields([], "scenes routines automations"),
    *_fields("", "user_note owner_comment"),
    *_fields([], "presets favourites"),
    *_fields([], "geofences zones"),
    *_TECHNICAL,
)
"""Of a device's answer."""

RECORD = (
    *_fields([], "tags labels flags keywords groups custom_tags"),
    *_fields([], "attachments media documents"),
    *_fields([], "related_ids references external_links linked_items links related_items"),
    *_fields({}, "metadata custom_fields properties extra user_data attributes additional_data"),
    *_fields(None, "notes internal_note remarks memo annotation internal_comment user_note owner_comment"),
    *_fields(None, "external_id legacy_id import_id sync_id external_reference internal_reference"),
    *_fields(None, "source_id internal_code"),
    *_fields(None, "updated_by approved_by reviewed_by"),
    *_fields(None, "parent_id merged_into successor"),
    *_fields(None, "archived_at deleted_at"),
    *_fields(None, "group_id sort_order"),
    *_fields("", "thumbnail icon"),
    *_fields("", "cost_center department"),
    *_fields("", "campaign channel"),
    *_fields([], "reviewers contributors collaborators"),
    *_fields({}, "integration_data channel_data sync_state"),
    *_fields("", "template layout"),
    *_fields("", "classification segment"),
    *_NEUTRAL,
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
        "extensions vendor_extensions vendor_data telemetry_extra",
        "debug debug_info diagnostics",
        "overrides custom_settings preferences",
        "display_options rendering presentation",
        "trace spans breadcrumbs",
        "deprecations upgrade_hints",
        "experiments variants",
        "feature_flags toggles",
        "aliases nicknames alternate_names",
        "help_text tooltip",
        "footnotes disclaimers",
        "i18n translations localizations",
        "subscribers watchers",
        "passthrough raw_payload opaque",
        "included expansions _embedded relationships",
        "facets aggregations",
        "highlights snippets",
        "suggestions recommendations",
        "headers response_headers",
        "tracking analytics",
        "cache_tags surrogate_keys",
        "env environment_changes",
        "artifacts created_files",
        "hooks post_actions",
        "background_jobs child_processes",
        "profile shell_profile",
        "pending_commands queued_commands scheduled_actions",
        "event_log unread_events",
        "scenes routines automations",
        "presets favourites",
        "geofences zones",
        "parent_id merged_into successor",
        "archived_at deleted_at",
        "thumbnail icon",
        "cost_center department",
        "campaign channel",
        "reviewers contributors collaborators",
        "integration_data channel_data sync_state",
        "template layout",
        "classification segment",
        "message messages notice notices notifications annotations hints additional_info details",
        "meta metadata extras extra attributes properties custom_fields user_data additional_attributes "
        "additional_data",
        "links _links external_links references related_ids linked_items related_items",
        "tags labels flags keywords custom_tags groups group_id",
        "attachments media documents",
        "notes internal_note remarks memo annotation internal_comment user_note owner_comment",
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
