"""Two samples of the kind that RobustBench-TC's appendix C shows, and its own strings of appendix G."""

from __future__ import annotations

from tests.injectors.operators.worked.sample import Sample, tool

RHYTHM = Sample(
    "Find the type of heart rhythm based on the ECG (Electrocardiogram) recording ID rec58213.",
    (
        tool(
            "list_paintings_in_wing",
            "Retrieve a list of specific works in a certain museum, in a specified wing.",
            museum_name="Identify the museum, such as 'Old Hall'.",
            wing="The specified wing of that museum.",
        ),
        tool(
            "rhythm_type.find",
            "Find the type of a heart rhythm based on the ID of its ECG recording.",
            recording_id="The specified recording's ID, for example rec7.",
            patient_group="The particular group.",
        ),
    ),
    "rhythm_type.find",
    {"recording_id": "rec58213", "patient_group": "adults"},
    '{"rhythm": "sinus"}',
)
NOTE = Sample(
    'The text is "Tea with the neighbours" and the place is "Garden Y".',
    (
        tool(
            "ChangeTimer",
            "Changes a timer of a specific user.",
            token="The provided token.",
            time="The time.",
        ),
        tool("FetchToken", "Fetches the token of a specific user.", user="The specified user."),
        tool(
            "AddNote",
            "Creates a note for a specific user.",
            token="The provided token.",
            text="The note's text.",
        ),
    ),
    "FetchToken",
    {"user": "user5"},
    '{"token": "t0k3n"}',
)
TRANSITION = {
    "Timeout": "Tool execution timed out after the configured request timeout. "
    "The remote endpoint did not respond within the allotted time.",
    "RateLim": "HTTP 429 Too Many Requests. "
    "The provider rejected the call because the per-minute rate limit has been exceeded.",
    "AuthErr": "HTTP 401 Unauthorized. "
    "The provider rejected the call because the supplied credentials are invalid or expired.",
    "5xxErr": "HTTP 500 Internal Server Error. The remote endpoint failed to handle the request.",
    "Malform": "Malformed response from tool execution: the body could not be parsed as JSON.",
    "SchemaD": "Schema validation failed: "
    "the response did not match the tool’s declared output schema (extra/missing fields).",
}
"""Appendix G's strings: the benchmark's own, byte for byte."""
