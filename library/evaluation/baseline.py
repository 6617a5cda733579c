"""Measures held against those of an earlier run, so that a regression can stop a build."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from library.evaluation.runner import MEASURES
from library.exceptions import InvalidRequest


@dataclass(frozen=True, slots=True)
class Regression:
    """A measure that fell."""

    dataset: str
    configuration: str
    question_type: str
    measure: str
    before: float
    now: float

    def __str__(self) -> str:
        of_type = "" if self.question_type == "all" else f" ({self.question_type})"
        return (
            f"{self.dataset}, {self.configuration}{of_type}: {self.measure} fell "
            f"from {self.before:.4f} to {self.now:.4f}"
        )


def read_baseline(path: Path) -> list[dict[str, Any]]:
    """What `search_eval --format json` printed. Raises `InvalidRequest` where the file is something else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidRequest("baseline", f"{path} cannot be read as JSON: {error}") from error
    rows = found.get("measured") if isinstance(found, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidRequest("baseline", f"{path} is not what 'search_eval --format json' prints")
    for row in rows:
        bad = [name for name in MEASURES if not _is_number(row.get(name))]
        if bad:
            raise InvalidRequest("baseline", f"{path}: {' / '.join(_key(row))} has no number for {', '.join(bad)}")
    return rows


def _is_number(value: object) -> bool:
    """JSON knows neither NaN nor infinity, but Python reads them, and nothing is ever below NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def not_run(baseline: Iterable[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> list[str]:
    """What the baseline measured and these rows did not: it is held against nothing."""
    now = {_key(row) for row in rows}
    return [" / ".join(_key(row)) for row in baseline if _key(row) not in now]


def regressions(
    baseline: Iterable[dict[str, Any]], rows: Sequence[dict[str, Any]], fail_below: float
) -> list[Regression]:
    """The measures that are lower than in the baseline by more than `fail_below`.

    Raises `InvalidRequest` where a row has nothing to be compared with, so that a misspelt baseline never passes.
    """
    before = {_key(row): row for row in baseline}
    missing = [" / ".join(_key(row)) for row in rows if _key(row) not in before]
    if missing:
        raise InvalidRequest("baseline", f"has nothing for {', '.join(missing)}")
    return [
        Regression(*_key(row), measure, before[_key(row)][measure], row[measure])
        for row in rows
        for measure in MEASURES
        if row[measure] < before[_key(row)][measure] - fail_below
    ]


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return str(row.get("dataset")), str(row.get("configuration")), str(row.get("question_type", "all"))
