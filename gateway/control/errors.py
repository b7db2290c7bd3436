"""Errors of the control plane, in OpenAI's form."""

from __future__ import annotations

from fastapi import Response

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.recorder.redaction import Redactor

_mask = Redactor("redact").mask_name


def make_error_response(error: ServiceError) -> Response:
    error.message = _mask(error.message)
    error.param = error.param and _mask(error.param)
    headers = {name.decode(): value.decode() for name, value in error.headers}
    return Response(error.body(), error.status, headers, media_type="application/json")
