"""What noise says of tools: unrelated ones, neighbours, wrong parameters, and prices."""

from __future__ import annotations

UNRELATED: dict[str, tuple[str, str]] = {
    "convert_currency": ("Convert an amount from one currency to another at today's rate.", "amount"),
    "play_playlist": ("Start a playlist on a speaker in the house.", "playlist"),
    "set_thermostat": ("Set the temperature of a room.", "room"),
    "translate_text": ("Translate a text into another language.", "text"),
    "get_weather_forecast": ("Get the forecast of a place for the coming days.", "place"),
    "resize_image": ("Change an image to another size.", "image"),
    "create_calendar_event": ("Put an appointment into a calendar.", "title"),
    "start_stopwatch": ("Start a stopwatch and give its name.", "label"),
    "read_tide_table": ("Give the times of high and low water at a harbour.", "harbour"),
    "water_plants": ("Open the valve of a bed for some minutes.", "bed"),
    "compile_document": ("Set a document and give it as pages.", "document"),
    "find_recipe": ("Find recipes for what is in the kitchen.", "ingredients"),
    "open_garage_door": ("Open or shut the door of the garage.", "door"),
    "summarize_podcast": ("Give the main points of an episode.", "episode"),
    "plot_histogram": ("Draw how often the values of a column occur.", "column"),
    "check_train_times": ("Give the next departures from a station.", "station"),
    "rotate_backup": ("Put the oldest backup aside and begin a new one.", "volume"),
    "tune_instrument": ("Listen to a string and tell how far it is out of tune.", "string"),
    "scan_barcode": ("Read the code in a picture.", "picture"),
    "lint_configuration": ("Look a configuration file over for mistakes.", "path"),
    "vote_in_poll": ("Cast a vote in a poll of the team.", "poll"),
    "render_map": ("Draw a map around a point.", "centre"),
    "measure_noise_level": ("Tell how loud it is at a sensor.", "sensor"),
    "draft_newsletter": ("Write the first version of a newsletter.", "topic"),
    "order_taxi": ("Send for a taxi.", "pickup"),
    "solve_sudoku": ("Fill a grid in.", "grid"),
    "archive_channel": ("Close a channel of the team's chat.", "channel"),
    "count_inventory": ("Tell how many of a spare part are in the store room.", "part"),
    "simulate_portfolio": ("Play a portfolio through past years.", "portfolio"),
    "book_meeting_room": ("Keep a room for an hour.", "room"),
    "transcribe_audio": ("Write down what is said in a recording.", "recording"),
    "identify_bird": ("Tell which bird sings in a recording.", "recording"),
}
"""Tools that have nothing to do with a task: by name, the description and the one parameter, a string."""

VERBS = frozenset(
    """
    add apply assign book calculate cancel change check close compute confirm convert create delete exchange
    fetch find generate get list look make modify move open place post query read remove rename reserve reset
    retrieve return save search send set show submit translate transfer update upload write
    """.split()  # noqa: SIM905
)
"""First or last words of a tool's name that say what it does."""

DEEDS = (
    (
        "archive",
        "Move {things} that are out of use to the archive.",
        "older_than_days",
        "integer",
    ),
    ("annotate", "Attach an internal remark to {things}; customers never see it.", "remark", "string"),
    ("count", "Count {things} per month, for reports.", "month", "string"),
    ("export", "Write {things} to a file in the reporting bucket.", "file_name", "string"),
    ("watch", "Be notified when {things} change from now on.", "channel", "string"),
    ("print", "Send {things} to an office printer.", "printer", "string"),
    ("label", "Put a coloured label on {things} for the team's board.", "colour", "string"),
    ("audit", "List who has looked at {things}, and when.", "since", "string"),
)
"""Verb, purpose, and the parameter with its type. None of them answers a question or does a task."""

# The honest sentences by which a distractor admits its drawback.
COSTS_MORE = (
    "Each call is billed at {times} times the price of {tool}.",
    "Note: a call costs {times} times as much as one of {tool}.",
    "Premium rate: {times} times the cost per call of {tool}.",
)

TAKES_LONGER = (
    "The typical response time is {times} times that of {tool}.",
    "Note: an answer takes {times} times as long as one of {tool}.",
    "Queued processing: responses arrive {times} times later than those of {tool}.",
)

FOREIGN_PARAMETERS = (
    ("reference", "string", "A reference number."),
    ("query", "string", "What to look for."),
    ("scope", "string", "Where it applies."),
    ("amount", "number", "How much of it."),
    ("limit", "integer", "The most that may be given."),
    ("verbose", "boolean", "Whether to tell more."),
    ("format", "string", "The form of the answer."),
)
"""Name, type and description of parameters that any tool might have."""
