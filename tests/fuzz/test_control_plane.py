"""The control plane held to its own OpenAPI: any request, legal or not, gets an answer that it declares."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from tests.fuzz.stage import stage as standing
from tests.fuzz.test_data_plane import EXAMPLES

OPERATIONS = sorted(
    [
        "GET /healthz", "GET /readyz", "GET /metrics", "GET /api/noise", "PUT /api/noise",
        "GET /api/operators", "GET /api/curriculum", "PUT /api/curriculum", "GET /api/profiles",
        "GET /api/profiles/{name}", "PUT /api/profiles/{name}", "GET /api/sessions",
        "POST /api/sessions", "GET /api/sessions/{session_id}",
        "DELETE /api/sessions", "DELETE /api/sessions/{session_id}",
        "GET /api/sessions/{session_id}/trajectory", "GET /api/sessions/{session_id}/dose",
        "GET /api/sessions/{session_id}/events", "POST /api/sessions/{session_id}/reward",
        "POST /api/sessions/{session_id}/close", "PUT /api/reload", "POST /api/reload",
        "GET /api/versions", "PUT /api/versions/{name}", "GET /api/groups/deleted",
        "GET /api/drills", "POST /api/drills", "GET /api/drills/{drill_id}",
        "POST /api/drills/{drill_id}/end", "GET /api/drills/{drill_id}/record",
        "GET /api/tools", "POST /api/tools", "DELETE /api/tools/{name}",
        "POST /api/sessions/{session_id}/tool-leg", "POST /api/sessions/{session_id}/tool-events",
    ]
)  # fmt: skip
SPOILABLE = [
    label
    for label in OPERATIONS
    if label.startswith("PUT /api/") or label.endswith(("sessions", "reward", "deleted"))
]
"""Where there is a body or a query to send otherwise than declared."""
SPOILABLE.remove("PUT /api/reload")

load_all_checks()
HELD_TO = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    ]
)
PLAN = settings(
    max_examples=max(1, EXAMPLES // 4),
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A control plane, and what it says of itself."""
    with standing(tmp_path_factory.mktemp("control")) as built:
        yield built, schemathesis.openapi.from_url(f"{built.running.control}/openapi.json")


def test_every_operation_is_tried(control: Any) -> None:
    _, schema = control
    assert sorted(found.ok().label for found in schema.get_all_operations()) == OPERATIONS


@pytest.mark.parametrize(
    ("label", "mode"),
    [(label, GenerationMode.POSITIVE) for label in OPERATIONS]
    + [(label, GenerationMode.NEGATIVE) for label in SPOILABLE],
)
def test_an_answer_is_as_declared(control: Any, label: str, mode: GenerationMode) -> None:
    stage, schema = control
    operation = schema.find_operation_by_label(label)

    @PLAN
    @given(operation.as_strategy(mode), st.booleans())
    def test(case: Case, known: bool) -> None:
        if known and "session_id" in case.path_parameters:
            case.path_parameters["session_id"] = opened(stage)
        case.call_and_validate(base_url=stage.running.control, checks=HELD_TO, timeout=60)
        stage.check_log()

    test()


def opened(stage: Any) -> str:
    """A session that there is."""
    return str(stage.http.post(f"{stage.running.control}/api/sessions", json={}).json()["id"])
