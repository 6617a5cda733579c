"""Measure the search on collections with relevance judgements."""

import csv
import io
import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand
from tqdm import tqdm

from library.evaluation.runner import CONFIGURATIONS, Evaluated, Measured, configuration_named, evaluate
from library.evaluation.trec import Dataset, read_dataset, write_run
from library.exceptions import InvalidRequest
from library.graph.browse import libraries
from library.management.exit_codes import exit_codes
from library.services.search import SearchService
from library.services.types import Scope

DEFAULT_CONFIGURATIONS = ("vector", "fulltext", "rrf", "rrf+rerank")


class Command(BaseCommand):
    """Exit code 0: measured; 1: something could not be reached; 2: the arguments make no sense."""

    help = "Measure nDCG@10, MRR@10, P@5, recall and latency on BEIR-layout collections."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Collections, configurations, and how to print."""
        parser.add_argument(
            "dataset", nargs="+", type=Path, help="a folder with corpus.jsonl, queries.jsonl and qrels/"
        )
        parser.add_argument("--split", default="test", help="which qrels/SPLIT.tsv (default: test)")
        parser.add_argument("--qrels", type=Path, help="another file of judgements, BEIR or TREC")
        parser.add_argument(
            "--config",
            nargs="+",
            default=list(DEFAULT_CONFIGURATIONS),
            metavar="NAME",
            help=f"which to run: {', '.join(CONFIGURATIONS)} (default: {' '.join(DEFAULT_CONFIGURATIONS)})",
        )
        parser.add_argument(
            "--ingest", action="store_true", help="ingest the collection first; unchanged items cost nothing"
        )
        parser.add_argument("--library", metavar="NAME", help="the library to search (default: eval NAME-OF-FOLDER)")
        parser.add_argument("--type", dest="library_type", default="nonfiction", help="its type, where it is made")
        parser.add_argument("--format", choices=("table", "json", "csv"), default="table")
        parser.add_argument("--runs", type=Path, metavar="FOLDER", help="write a TREC run file for each configuration")

    def handle(self, *args: Any, **options: Any) -> None:
        """Measure each configuration on each collection."""
        rows: list[tuple[str, Measured]] = []
        with exit_codes():
            configurations = [configuration_named(name) for name in options["config"]]
            for folder in options["dataset"]:
                dataset = read_dataset(folder, options["split"], options["qrels"])
                library_uid = self._library(dataset, options)
                for configuration in configurations:
                    evaluated = evaluate(
                        dataset, configuration, library_uid, SearchService(), _progress(dataset, configuration.name)
                    )
                    rows.append((dataset.name, evaluated.measured))
                    _write_run(options["runs"], dataset, evaluated)
        self.stdout.write(_shown(rows, options["format"]))

    def _library(self, dataset: Dataset, options: dict[str, Any]) -> str:
        name = options["library"] or f"eval {dataset.name}"
        if options["ingest"]:
            call_command("ingest", str(dataset.corpus), library=name, type=options["library_type"])
        found = [entry.uid for entry in libraries(Scope()) if entry.name == name]
        if not found:
            raise InvalidRequest("library", f"there is no library {name!r}; add --ingest to make it")
        return found[0]


def _progress(dataset: Dataset, name: str) -> Any:
    def wrapped(queries: Iterable[Any]) -> Iterable[Any]:
        return tqdm(queries, desc=f"{dataset.name}, {name}", file=sys.stderr, disable=None)

    return wrapped


def _write_run(folder: Path | None, dataset: Dataset, evaluated: Evaluated) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        name = evaluated.measured.configuration
        write_run(folder / f"{dataset.name}.{name}.trec", evaluated.run, name)


def _shown(rows: list[tuple[str, Measured]], form: str) -> str:
    if form == "json":
        return json.dumps([{"dataset": dataset, **asdict(measured)} for dataset, measured in rows], indent=2)
    names = ["dataset", *(field.name for field in fields(Measured))]
    table = [[dataset, *map(_cell, asdict(measured).values())] for dataset, measured in rows]
    if form == "csv":
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([names, *table])
        return buffer.getvalue().rstrip()
    widths = [max(len(row[column]) for row in [names, *table]) for column in range(len(names))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [names, *table]
    )


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
