"""Errors of the control plane, in OpenAI's form."""

from __future__ import annotations

from fastapi import Response

from crosswind.gateway.errors import ServiceError


def make_error_response(error: ServiceError) -> Response:
    headers = {name.decode(): value.decode() for name, value in error.headers}
    return Response(error.body(), error.status, headers, media_type="application/json")
