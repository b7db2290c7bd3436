"""What the names of empty fields mean, and the names by which systems repeat a request."""

from __future__ import annotations

MEANINGS = tuple(
    frozenset(names.split())
    for names in (
        "error errors problem problems exception failure failures rejection rejections "
        "error_code error_codes error_message error_details error_output validation_errors "
        "stderr last_error fault_code faults fault_codes trouble_codes issues",
        "warnings warning_messages cautions alerts alarms active_warnings active_alerts "
        "price_alerts weather_alerts advisories",
        "message messages notice notices notifications info_messages status_message "
        "user_message announcements announcement banner bulletin hints",
        "metadata meta _meta extra additional_data supplement internals attributes "
        "custom_fields vendor_data context options extra_options",
        "details reason status_detail status_text additional_info more_info addendum remarks note "
        "notes comment comments memo customer_note special_requests gift_message "
        "delivery_instructions statement_descriptor internal_notes "
        "station_note observation_note disclaimer attribution annotations footnotes "
        "description seller_reply owner_response",
        "links _links references related similar see_also linked_issues related_tickets blocked_by urls",
        "next next_page next_cursor next_page_token prev pagination paging",
        "tags labels components flags status_flags indicators limits badges awards reports",
        "attachments documents media images photos",
        "external_id legacy_id import_id reference source_id client_order_id batch_id end_to_end_id "
        "group_reference corporate_code po_number purchase_order",
        "updated_by last_editor edited_by",
        "parent_id epic",
        "discounts promotions coupons vouchers offers special_offers",
        "coupon_code promo_code gift_card",
        "fees adjustments commissions charges surcharges",
        "thumbnail image",
        "legs linked_orders",
        "refunds returns",
        "holds disputes chargebacks",
        "add_ons upgrades",
        "loyalty_number membership_number",
        "dividends splits corporate_actions",
        "halts trading_halts",
        "news headlines",
        "backordered_items substitutions",
        "watchers followers",
        "sprint milestone",
        "place location",
        "in_reply_to reply_to quoted_id thread_id",
        "reactions mentions entities",
        "restrictions house_rules fare_rules",
        "replies responses",
        "highlights sitelinks",
        "recurrence recurrence_rule",
        "conference_link meeting_url",
        "exceptions cancellations special_hours closures incidents",
        "variants related_products bundles",
        "gtin barcode",
        "menu_url website",
        "waypoints via alternatives",
        "tolls ferries",
        "aliases middle_name nickname",
        "avatar_url photo_url",
        "secondary_email alternate_email",
        "groups teams",
        "preferences settings",
        "suggestions related_searches did_you_mean corrected_query",
        "facets filters aggregations",
        "acl shared_with",
        "diagnostics diagnostic_messages self_test_results",
        "pending_commands queued_commands scheduled_actions pending_actions",
        "events event_log history audit_log",
        "overrides manual_overrides",
        "service_reminders maintenance_items",
        "missing_signals unavailable_readings",
        "inhibits interlocks active_limits",
        "degraded_functions limitations",
        "pending_updates available_updates",
        "profile preset",
        "skipped conflicts ignored excluded",
        "truncated timed_out interrupted",
    )
)
"""Names that say the same: a system has at most one of them."""

ECHOES = """
    request params parameters request_params input query_params arguments inputs request_parameters given
    received requested asked payload form provided args options_used request_body
""".split()
"""Fields in which services repeat what they were asked."""
