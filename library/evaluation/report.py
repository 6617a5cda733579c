"""Measures as tables, JSON and CSV. Pure."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

FORMATS: Final = ("table", "json", "csv")

Rows = Sequence[Mapping[str, Any]]


def as_text(tables: Mapping[str, Rows], form: str) -> str:
    """Named lists of rows of one shape each; those without rows are left out, but for JSON."""
    if form == "json":
        return json.dumps({name: list(rows) for name, rows in tables.items()}, indent=2)
    write = _csv if form == "csv" else _table
    return "\n\n".join(write(rows) for rows in tables.values() if rows)


def _cells(rows: Rows) -> list[list[str]]:
    return [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]


def _csv(rows: Rows) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(_cells(rows))
    return buffer.getvalue().rstrip()


def _table(rows: Rows) -> str:
    cells = _cells(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
