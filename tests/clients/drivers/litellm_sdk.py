"""LiteLLM's SDK, in an environment of its own: it can't share one with the newest `openai`."""

from __future__ import annotations

from tests.clients.job import Row
from tests.clients.tools import litellm_python
from tests.clients.worker import HERE, Worker

# Offline: the prices of models would be fetched at each start otherwise.
WORKER = Worker(
    lambda: (str(litellm_python()), str(HERE / "litellm_worker.py")),
    {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"},
)
PACKAGE, NEEDS = "litellm:litellm", "litellm"
ROWS = (
    Row("LiteLLM's SDK", "Chat Completions", WORKER.client("chat"), PACKAGE, needs=NEEDS),
    Row("LiteLLM's SDK", "Responses", WORKER.client("responses"), PACKAGE, needs=NEEDS),
    Row("LiteLLM's SDK", "Messages", WORKER.client("messages"), PACKAGE, needs=NEEDS),
)
