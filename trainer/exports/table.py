"""Rows as a file: JSON lines, or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from crosswind.gateway.trajectory.export_format import ExportRefused, Selection

_ROWS_AT_ONCE = 500


def write_rows(rows: Iterable[dict[str, Any]], selection: Selection, out: BinaryIO) -> None:
    """Parquet where the file's name ends with .parquet, JSON lines otherwise."""
    if selection.target is not None and selection.target.suffix == ".parquet":
        write_parquet_rows(rows, out)
        return
    for row in rows:
        out.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def write_parquet_rows(rows: Iterable[dict[str, Any]], out: BinaryIO) -> None:
    """One Parquet file. A column that is null in some rows has the type of the others."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ExportRefused("Parquet needs pyarrow: pip install 'crosswind[parquet]'") from error
    tables = [pyarrow.Table.from_pylist(part) for part in _divide(rows)]
    if not tables:
        raise ExportRefused("there is no row to write: see the reasons above, or select other sessions")
    parquet.write_table(pyarrow.concat_tables(tables, promote_options="permissive"), out)


def _divide(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    left = iter(rows)
    while part := list(islice(left, _ROWS_AT_ONCE)):
        yield part
