"""Fields that systems send along without a value, by what they are about: they say nothing."""

from __future__ import annotations

import re
from typing import Any

from crosswind.injectors.text.word_lists import make_words


def _fields(nothing: Any, names: str) -> tuple[tuple[str, Any], ...]:
    return tuple((name, nothing) for name in names.split())


TROUBLE = (
    *_fields("", "error error_code error_message error_details"),
    *_fields([], "errors validation_errors"),
    *_fields([], "warnings warning_messages cautions alerts"),
)
"""Of an answer that went well; none beside one that speaks of an error."""

COMPUTED = (
    *TROUBLE,
    *_fields([], "messages notices info_messages notifications"),
    *_fields("", "message notice status_message user_message"),
    *_fields({}, "metadata meta extra additional_data _meta"),
    *_fields("", "details additional_info note notes description"),
    *_fields({}, "context options"),
    *_fields([], "annotations footnotes hints"),
    *_fields("", "reason status_detail status_text"),
)
"""Of what a function gives."""

ANSWER = (
    *COMPUTED,
    *_fields({}, "attributes"),
    *_fields([], "links references related see_also"),
    *_fields({}, "_links"),
)
"""Of any system's answer."""

PAGES = (
    *_fields(None, "next next_page prev"),
    *_fields("", "next_cursor next_page_token"),
    *_fields({}, "pagination paging"),
)
"""Of the answer that holds a list."""

RECORD = (
    *_fields([], "tags labels"),
    *_fields([], "attachments documents"),
    *_fields("", "external_id legacy_id source_id import_id"),
    *_fields("", "updated_by last_editor edited_by"),
    *_fields({}, "custom_fields metadata attributes"),
    *_fields([], "history events audit_log"),
    *_fields("", "notes internal_notes comment remarks"),
)
"""Of a record."""

COMMAND = (
    *_fields("", "stderr error_output"),
    *_fields("", "error error_message error_code"),
    *_fields([], "errors"),
    *_fields([], "warnings warning_messages"),
    *_fields([], "messages notices hints"),
    *_fields(False, "truncated timed_out interrupted"),
    *_fields([], "skipped conflicts ignored excluded"),
    *_fields({}, "metadata meta extra"),
    *_fields("", "details note additional_info"),
    *_fields([], "options extra_options"),
)
"""Of a command's answer."""

DEVICE = (
    *_fields([], "faults fault_codes trouble_codes"),
    *_fields([], "errors error_codes"),
    *_fields("", "error error_message last_error fault_code"),
    *_fields([], "alerts warnings active_warnings alarms active_alerts"),
    *_fields([], "diagnostics diagnostic_messages self_test_results"),
    *_fields([], "pending_commands queued_commands scheduled_actions pending_actions"),
    *_fields([], "messages notices notifications announcements"),
    *_fields({}, "metadata meta vendor_data attributes extra"),
    *_fields([], "events event_log history"),
    *_fields("", "reason details note comment status_text"),
    *_fields([], "flags status_flags indicators limits"),
    *_fields({}, "overrides manual_overrides"),
    *_fields([], "service_reminders maintenance_items"),
    *_fields([], "missing_signals unavailable_readings"),
    *_fields([], "inhibits interlocks active_limits"),
    *_fields([], "degraded_functions limitations"),
    *_fields([], "pending_updates available_updates"),
    *_fields("", "profile preset"),
)
"""Of a device's answer."""

TRADE = (
    *_fields([], "fees commissions"),
    *_fields([], "tax_lots"),
    *_fields([], "legs linked_orders"),
    *_fields("", "client_order_id"),
    *_fields("", "notes memo"),
    *_fields([], "alerts restrictions"),
    *_fields([], "adjustments"),
)
"""Of a stock's order."""

SEARCH = (
    *_fields([], "suggestions related_searches"),
    *_fields({}, "facets filters aggregations"),
    *_fields("", "did_you_mean corrected_query"),
)
"""Of what a search gives."""

FOUND = (
    *_fields([], "highlights sitelinks"),
    *_fields([], "tags labels"),
    *_fields("", "thumbnail image"),
    *_fields({}, "metadata attributes extra"),
    *_fields([], "related similar"),
    *_fields("", "notes remarks"),
)
"""Of each thing that a search found."""

SUBJECTS: tuple[tuple[frozenset[str], tuple[tuple[str, Any], ...]], ...] = (
    (
        make_words("symbol stock stocks ticker watchlist portfolio trade trades quote shares"),
        (
            *_fields([], "dividends splits corporate_actions"),
            *_fields([], "news headlines"),
            *_fields([], "alerts price_alerts"),
            *_fields([], "halts trading_halts"),
            *_fields("", "disclaimer attribution"),
            *_fields([], "annotations"),
        ),
    ),
    (
        make_words("review reviews rating ratings"),
        (
            *_fields([], "photos images"),
            *_fields([], "replies responses"),
            *_fields([], "reports flags"),
            *_fields("", "seller_reply owner_response"),
            *_fields({}, "reactions"),
            *_fields([], "badges"),
        ),
    ),
    (
        make_words("booking bookings reservation reservations trip itinerary rental"),
        (
            *_fields("", "special_requests customer_note"),
            *_fields([], "extras add_ons upgrades"),
            *_fields([], "discounts vouchers promotions"),
            *_fields("", "coupon_code promo_code"),
            *_fields("", "loyalty_number membership_number"),
            *_fields([], "notices"),
            *_fields("", "group_reference corporate_code"),
            *_fields([], "fees adjustments"),
        ),
    ),
    (
        make_words("flight flights airline airlines train trains"),
        (
            *_fields([], "codeshares"),
            *_fields([], "promotions special_offers"),
            *_fields([], "restrictions fare_rules"),
            *_fields([], "notices advisories"),
            *_fields([], "surcharges fees"),
            *_fields("", "remarks"),
            *_fields([], "upgrades"),
        ),
    ),
    (
        make_words("hotel hotels room rooms apartment apartments"),
        (
            *_fields([], "promotions special_offers"),
            *_fields([], "photos images"),
            *_fields([], "restrictions house_rules"),
            *_fields([], "closures"),
            *_fields([], "surcharges fees"),
            *_fields([], "awards badges"),
            *_fields("", "remarks"),
        ),
    ),
    (
        make_words("order orders cart checkout shipment shipments delivery parcel"),
        (
            *_fields([], "discounts promotions coupons"),
            *_fields("", "coupon_code promo_code"),
            *_fields([], "refunds returns"),
            *_fields("", "customer_note gift_message delivery_instructions"),
            *_fields([], "adjustments fees"),
            *_fields("", "po_number purchase_order"),
            *_fields([], "backordered_items substitutions"),
            *_fields("", "gift_card"),
        ),
    ),
    (
        make_words(
            "account accounts balance transaction transactions payment payments invoice invoices card funds"
        ),
        (
            *_fields([], "fees adjustments charges"),
            *_fields([], "holds disputes chargebacks"),
            *_fields("", "memo statement_descriptor"),
            *_fields("", "batch_id end_to_end_id"),
            *_fields([], "alerts restrictions"),
            *_fields("", "tax_details"),
        ),
    ),
    (
        make_words("ticket tickets issue issues bug incident task tasks"),
        (
            *_fields([], "watchers followers"),
            *_fields([], "linked_issues related_tickets blocked_by"),
            *_fields([], "labels components"),
            *_fields("", "due_date"),
            *_fields("", "sprint milestone"),
            *_fields([], "attachments"),
            *_fields("", "parent_id epic"),
        ),
    ),
    (
        make_words("tweet tweets post posts retweet timeline"),
        (
            *_fields([], "media images"),
            *_fields("", "place location"),
            *_fields("", "in_reply_to reply_to quoted_id"),
            *_fields([], "edit_history"),
            *_fields({}, "entities reactions"),
            *_fields([], "urls"),
            *_fields([], "contributors"),
        ),
    ),
    (
        make_words("message messages mail email emails inbox chat sms conversation"),
        (
            *_fields([], "attachments media"),
            *_fields([], "reactions mentions"),
            *_fields("", "reply_to in_reply_to thread_id"),
            *_fields([], "labels"),
            *_fields({}, "headers"),
        ),
    ),
    (
        make_words("event events calendar meeting class classes schedule appointment appointments court"),
        (
            *_fields([], "reminders"),
            *_fields("", "recurrence recurrence_rule"),
            *_fields([], "attachments"),
            *_fields("", "conference_link meeting_url"),
            *_fields("", "remarks description"),
            *_fields([], "exceptions cancellations"),
            *_fields("", "color"),
        ),
    ),
    (
        make_words("product products item items catalog inventory sku price prices store"),
        (
            *_fields([], "variants options"),
            *_fields([], "images photos"),
            *_fields([], "promotions discounts"),
            *_fields([], "related_products bundles"),
            *_fields("", "gtin barcode"),
            *_fields([], "badges"),
            *_fields("", "video_url"),
        ),
    ),
    (
        make_words("restaurant restaurants place places attraction attractions museum shop venue"),
        (
            *_fields([], "photos images"),
            *_fields([], "special_hours closures"),
            *_fields([], "promotions offers"),
            *_fields([], "awards badges"),
            *_fields("", "menu_url website"),
        ),
    ),
    (
        make_words("weather forecast temperature climate humidity"),
        (
            *_fields([], "alerts weather_alerts advisories"),
            *_fields("", "station_note observation_note"),
            *_fields([], "missing_stations"),
            *_fields("", "disclaimer attribution"),
        ),
    ),
    (
        make_words("route routes distance directions traffic navigation"),
        (
            *_fields([], "waypoints via"),
            *_fields([], "closures incidents"),
            *_fields([], "tolls ferries"),
            *_fields([], "alternatives"),
            *_fields([], "notices advisories"),
        ),
    ),
    (
        make_words(
            "user users profile customer customers contact contacts member members person employee author"
        ),
        (
            *_fields([], "aliases"),
            *_fields("", "middle_name nickname"),
            *_fields("", "avatar_url photo_url"),
            *_fields("", "secondary_email alternate_email"),
            *_fields([], "groups teams"),
            *_fields({}, "preferences settings"),
            *_fields([], "linked_accounts"),
        ),
    ),
    (
        make_words("search find query lookup results"),
        SEARCH,
    ),
    (
        make_words("file files document documents folder directory"),
        (
            *_fields([], "acl shared_with"),
            *_fields({}, "xattrs"),
            *_fields("", "locked_by"),
            *_fields([], "labels"),
        ),
    ),
)
"""Of what the words of a tool's name speak of: of the first of these subjects. The first is a stock."""

MEANINGS = tuple(
    frozenset(names.split())
    for names in (
        "error errors error_code error_codes error_message error_details error_output validation_errors "
        "stderr last_error fault_code faults fault_codes trouble_codes issues",
        "warnings warning_messages cautions alerts alarms active_warnings active_alerts "
        "price_alerts weather_alerts advisories",
        "message messages notice notices notifications info_messages status_message "
        "user_message announcements hints",
        "metadata meta _meta extra additional_data attributes custom_fields vendor_data context "
        "options extra_options",
        "details reason status_detail status_text additional_info remarks note notes comment comments memo "
        "customer_note "
        "special_requests gift_message delivery_instructions statement_descriptor internal_notes "
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

AMISS = re.compile(r"err|fail|warn|alert|invalid|not found|fault|denied", re.IGNORECASE)
"""What an answer that didn't go well says."""

ECHOES = """
    request params parameters request_params input query_params arguments inputs request_parameters
""".split()
"""Fields in which services repeat what they were asked."""
