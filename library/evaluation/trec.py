"""Collections with relevance judgements: BEIR folders, TREC qrels and TREC run files. Pure but for reading files."""

import csv
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from library.exceptions import InvalidRequest

# Relevance by document, by query. Judgements may be graded; those not above 0 are not relevant.
Qrels = dict[str, dict[str, int]]
# Score by document, by query, in the order of the ranking.
Run = dict[str, dict[str, float]]

_TREC_QRELS_FIELDS: Final = 4
_TREC_RUN_FIELDS: Final = 6


@dataclass(frozen=True, slots=True)
class Query:
    """One question of a collection. `kind` is its type where the collection says one."""

    uid: str
    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Questions with their judgements; only questions that have judgements are kept."""

    name: str
    corpus: Path
    queries: tuple[Query, ...]
    qrels: Qrels


def read_dataset(folder: Path, split: str = "test", qrels_file: Path | None = None) -> Dataset:
    """A BEIR folder: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv (or the qrels named, BEIR or TREC).

    Raises `InvalidRequest` naming the file that is missing or the line that makes no sense.
    """
    corpus, questions = folder / "corpus.jsonl", folder / "queries.jsonl"
    for path in (corpus, questions):
        if not path.is_file():
            raise InvalidRequest("dataset", f"{path} does not exist; a BEIR folder has corpus.jsonl and queries.jsonl")
    qrels = read_qrels(qrels_file if qrels_file is not None else folder / "qrels" / f"{split}.tsv")
    queries = tuple(query for query in _read_queries(questions) if query.uid in qrels)
    if not queries:
        raise InvalidRequest("dataset", f"no query of {questions} has a judgement")
    return Dataset(folder.name, corpus, queries, qrels)


def dataset_of_qrels(path: Path) -> Dataset:
    """The judged queries of a file of judgements, without their texts: enough to measure run files."""
    qrels = read_qrels(path)
    return Dataset(path.stem, path, tuple(Query(uid, "") for uid in qrels), qrels)


def _read_queries(path: Path) -> Iterator[Query]:
    for number, row in _json_lines(path):
        metadata = row.get("metadata") or {}
        if "_id" not in row or "text" not in row:
            raise InvalidRequest("dataset", f"{path}, line {number}: a query needs _id and text")
        yield Query(str(row["_id"]), str(row["text"]), str(metadata.get("question_type") or metadata.get("type") or ""))


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise InvalidRequest("dataset", f"{path}, line {number}: not JSON") from error
            if not isinstance(row, dict):
                raise InvalidRequest("dataset", f"{path}, line {number}: not a JSON object")
            yield number, row


def read_qrels(path: Path) -> Qrels:
    """Judgements of a BEIR .tsv (query, document, score, with a head line) or a TREC file (query 0 document score)."""
    if not path.is_file():
        raise InvalidRequest("qrels", f"{path} does not exist")
    qrels: Qrels = {}
    with path.open(encoding="utf-8", newline="") as lines:
        tabs = "\t" in lines.readline()
        lines.seek(0)
        rows = csv.reader(lines, delimiter="\t") if tabs else (line.split() for line in lines)
        for number, row in enumerate(rows, start=1):
            fields = [row[0], row[2], row[3]] if len(row) == _TREC_QRELS_FIELDS else row
            if not fields or (number == 1 and not fields[-1].lstrip("-").isdigit()):
                continue
            if len(fields) != _TREC_QRELS_FIELDS - 1 or not fields[2].lstrip("-").isdigit():
                raise InvalidRequest("qrels", f"{path}, line {number}: expected a query, a document and a whole number")
            qrels.setdefault(fields[0], {})[fields[1]] = int(fields[2])
    if not qrels:
        raise InvalidRequest("qrels", f"{path} holds no judgement")
    return qrels


def read_run(path: Path) -> Run:
    """A TREC run file: query Q0 document rank score tag. Raises `InvalidRequest` naming what makes no sense."""
    if not path.is_file():
        raise InvalidRequest("run", f"{path} does not exist")
    run: Run = {}
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            fields = line.split()
            if len(fields) != _TREC_RUN_FIELDS:
                raise InvalidRequest("run", f"{path}, line {number}: expected six fields")
            try:
                score = float(fields[4])
            except ValueError:
                score = math.nan
            if not math.isfinite(score):
                raise InvalidRequest("run", f"{path}, line {number}: {fields[4]!r} is no score")
            run.setdefault(fields[0], {})[fields[2]] = score
    # As trec_eval does: by score, whatever the ranks say; equal scores by document, the later first.
    return {
        query: dict(sorted(ranking.items(), key=lambda scored: (scored[1], scored[0]), reverse=True))
        for query, ranking in run.items()
    }


def write_run(path: Path, run: Mapping[str, Mapping[str, float]], tag: str) -> None:
    """Write a TREC run file; ranks count from 1 in the order of the run."""
    with path.open("w", encoding="utf-8") as lines:
        for query, ranking in run.items():
            for rank, (document, score) in enumerate(ranking.items(), start=1):
                lines.write(f"{query} Q0 {document} {rank} {score:.9f} {tag}\n")
