"""Tools that have nothing to do with a task: what an assistant with too many servers is offered."""

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
"""Description and the one parameter, a string, by name."""
