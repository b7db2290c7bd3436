"""How systems name the parts of an answer's verbose form, and the types of its fields."""

from __future__ import annotations

from typing import Any, NamedTuple

from crosswind.injectors.targets import Half


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


class Dialect(NamedTuple):
    """How one family of systems describes a field."""

    name: str
    """The attribute of the field's name; "": fields are members by name."""
    type: str
    types: tuple[str, str, str, str, str, str]
    """What it calls a text, an integer, another number, a truth value, a list, an object. `{}` in the list's
    name is what its first element is called."""
    more: tuple[tuple[str, Any], ...] = ()
    """What it says of each field besides."""
    size: str = ""
    unit: str = ""
    label: str = ""


DIALECTS: dict[Half, tuple[Dialect, ...]] = {
    Half.TRAIN: (
        Dialect("", "type", ("string", "integer", "number", "boolean", "array", "object")),
        Dialect("", "type", ("string", "integer", "number", "boolean", "array", "object")),
        Dialect(
            "Name",
            "Type",
            ("Edm.String", "Edm.Int64", "Edm.Double", "Edm.Boolean", "Collection({})", "Edm.Complex"),
        ),
        Dialect("field", "kind", ("str", "int", "float", "bool", "list", "dict"), (), "", "unit", "label"),
        Dialect("", "mapping", ("keyword", "long", "double", "boolean", "{}", "object"), (("index", True),)),
        Dialect(
            "id",
            "valueType",
            ("Text", "Integer", "Decimal", "Boolean", "List", "Group"),
            (),
            "",
            "unit",
            "label",
        ),
        Dialect("", "", ("STRING", "INT64", "FLOAT64", "BOOL", "REPEATED", "RECORD")),
        Dialect("", "", ("varchar", "bigint", "numeric", "bool", "jsonb", "jsonb")),
        Dialect(
            "name", "dataType", ("utf8", "int64", "float64", "bool", "list", "struct"), (("nullable", False),)
        ),
    ),
    Half.TEST: (
        Dialect(
            "", "class", ("String", "Long", "Double", "Boolean", "List<{}>", "Map"), (), "", "", "displayName"
        ),
        Dialect("key", "format", ("char", "int", "real", "logical", "array", "struct"), (), "width", "units"),
        Dialect(
            "attribute", "xsdType", ("xs:string", "xs:long", "xs:decimal", "xs:boolean", "xs:list", "xs:any")
        ),
        Dialect("", "", ("String!", "Int!", "Float!", "Boolean!", "[{}]!", "JSON!")),
        Dialect(
            "property",
            "datatype",
            ("TYPE_STRING", "TYPE_INT64", "TYPE_DOUBLE", "TYPE_BOOL", "LABEL_REPEATED", "TYPE_MESSAGE"),
        ),
        Dialect(
            "member",
            "type",
            ("System.String", "System.Int64", "System.Decimal", "System.Boolean", "List<{}>", "Object"),
        ),
        Dialect("AttributeName", "AttributeType", ("S", "N", "N", "BOOL", "L", "M")),
        Dialect("", "", ("TEXT", "INTEGER", "REAL", "BOOLEAN", "JSON", "JSON")),
    ),
}
"""The families of systems of each half."""

DESCRIBED = {
    Half.TRAIN: _words("fields field_info field_types model types result_fields"),
    Half.TEST: _words("properties descriptor attributes structure metadata _fields meta"),
}
SCHEMAS = {
    Half.TRAIN: _words("schema _schema response_schema"),
    Half.TEST: _words("definition output_schema shape"),
}
ASKED = {
    Half.TRAIN: _words("request query params input args parameters for_input requested"),
    Half.TEST: _words("criteria arguments _request inputs called_with search given echo"),
}
SHOWN = {
    Half.TRAIN: _words("formatted display display_values as_text localized texts rendered"),
    Half.TEST: _words("printed display_value human_readable _display locales formats"),
}
COUNTED = {
    Half.TRAIN: _words("aggregations facets stats summary totals"),
    Half.TEST: _words("statistics facet_counts aggregates rollup overview"),
}
LISTED = {
    Half.TRAIN: _words("details listing long_format entries_long"),
    Half.TEST: _words("ls_l long_listing stat file_details"),
}
COMPUTED = {
    Half.TRAIN: _words("steps working calculation derivation"),
    Half.TEST: _words("explanation how solution breakdown"),
}
TEXT_FACTS = {
    Half.TRAIN: _words("file_info text_info metadata properties stats"),
    Half.TEST: _words("content_info info attributes counts summary"),
}
PATH_FACTS = {Half.TRAIN: _words("path_info parsed parts"), Half.TEST: _words("path resolved components")}
MEANING = {
    Half.TRAIN: _words("description about operation documentation"),
    Half.TEST: _words("help reference docs"),
}
COLUMNS = {Half.TRAIN: ("fields", "columns_info"), Half.TEST: ("column_types", "column_info")}

UNITS = {
    **{"c": "°C", "celsius": "°C", "f": "°F", "fahrenheit": "°F", "pct": "%", "percent": "%", "kg": "kg"},
    **{
        "lb": "lb",
        "lbs": "lb",
        "km": "km",
        "cm": "cm",
        "mm": "mm",
        "miles": "mi",
        "hpa": "hPa",
        "psi": "psi",
    },
    **{
        "kmh": "km/h",
        "kph": "km/h",
        "mph": "mph",
        "kwh": "kWh",
        "ms": "ms",
        "seconds": "s",
        "minutes": "min",
    },
    **{"ppm": "ppm", "lux": "lx", "rpm": "rpm", "usd": "USD", "eur": "EUR", "gbp": "GBP", "liters": "L"},
    **{"db": "dB", "hours": "h", "days": "d"},
}
"""Last words of fields, with the units that they say."""

LOCALES: dict[Half, tuple[tuple[str, str, str], ...]] = {
    Half.TRAIN: (("en-US", ",", "."), ("de-DE", ".", ","), ("fr-FR", "\u202f", ","), ("es-ES", ".", ",")),
    Half.TEST: (("en-GB", ",", "."), ("it-IT", ".", ","), ("nl-NL", ".", ","), ("sv-SE", "\u00a0", ",")),
}
"""Locales with the separator of thousands and the decimal one."""
