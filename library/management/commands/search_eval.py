"""Measure the search on collections with relevance judgements."""

import math
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from library.evaluation.baseline import Regression, not_run, read_baseline, regressions
from library.evaluation.floor import FloorMeasured, measure_floors
from library.evaluation.report import FORMATS, as_text
from library.evaluation.runner import CONFIGURATIONS, MEASURES, Evaluated, configuration_named, evaluate
from library.evaluation.significance import Comparison, compare
from library.evaluation.trec import Dataset, dataset_of_qrels, read_dataset, read_run, write_run
from library.exceptions import InvalidRequest
from library.graph.browse import libraries
from library.management.exit_codes import exit_codes
from library.services.search import SearchService
from library.services.types import Scope

DEFAULT_CONFIGURATIONS = ("vector", "fulltext", "rrf", "rrf+rerank")


class Command(BaseCommand):
    """Exit code 0: measured; 1: a regression, or something could not be reached; 2: the arguments make no sense."""

    help = "Measure nDCG@10, MRR@10, P@5, recall and latency on BEIR-layout collections, or of TREC run files."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Collections, configurations, and what to do with the measures."""
        parser.add_argument(
            "dataset", nargs="*", type=Path, help="a folder with corpus.jsonl, queries.jsonl and qrels/"
        )
        parser.add_argument("--split", default="test", help="which qrels/SPLIT.tsv (default: test)")
        parser.add_argument("--qrels", type=Path, help="another file of judgements, BEIR or TREC")
        parser.add_argument(
            "--config",
            nargs="+",
            default=None,
            metavar="NAME",
            help=f"which to run: {', '.join(CONFIGURATIONS)} (default: {' '.join(DEFAULT_CONFIGURATIONS)})",
        )
        parser.add_argument("--run", nargs="+", type=Path, default=[], metavar="FILE", help="TREC runs to measure too")
        parser.add_argument(
            "--ingest", action="store_true", help="ingest the collection first; unchanged items cost nothing"
        )
        parser.add_argument("--library", metavar="NAME", help="the library to search (default: eval NAME-OF-FOLDER)")
        parser.add_argument("--type", dest="library_type", default="nonfiction", help="its type, where it is made")
        parser.add_argument("--by-type", action="store_true", help="also by type of question")
        parser.add_argument("--format", choices=FORMATS, default="table")
        parser.add_argument("--runs", type=Path, metavar="FOLDER", help="write a TREC run file for each configuration")
        parser.add_argument(
            "--compare", nargs=2, metavar=("A", "B"), help="test whether B differs from A by more than chance"
        )
        parser.add_argument("--measure", choices=MEASURES, default=MEASURES[0], help="what --compare compares")
        parser.add_argument("--baseline", type=Path, metavar="FILE", help="JSON of an earlier run to hold this against")
        parser.add_argument(
            "--fail-below",
            type=float,
            default=0.01,
            metavar="X",
            help="exit 1 where a measure is lower than in the baseline by more than this (default: 0.01)",
        )
        parser.add_argument(
            "--floors",
            nargs="+",
            type=float,
            default=[],
            metavar="X",
            help="instead: which part of real and of nonsense questions these relevance floors call unanswered",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Measure each configuration on each collection."""
        with exit_codes():
            _check(options)
            datasets = _datasets(options)
            if options["floors"]:
                tables = {"floors": [asdict(row) for row in self._floors(datasets, options)]}
                self.stdout.write(as_text(tables, options["format"]))
                return
            # A baseline that cannot be read is to be known before an hour of measuring.
            baseline = read_baseline(options["baseline"]) if options["baseline"] else None
            evaluated = list(self._evaluated(datasets, options))
            rows = [
                {"dataset": one.dataset.name, **asdict(measured)}
                for one in evaluated
                for measured in [one.measured(), *(one.by_type() if options["by_type"] else [])]
            ]
            compared = [
                {"dataset": dataset.name, **asdict(_compared(dataset, evaluated, options))}
                for dataset in datasets
                if options["compare"]
            ]
            self.stdout.write(as_text({"measured": rows, "compared": compared}, options["format"]))
            fallen = self._fallen(baseline, rows, options["fail_below"]) if baseline is not None else []
        if fallen:
            raise CommandError("\n".join(map(str, fallen)), returncode=1)

    def _fallen(
        self, baseline: list[dict[str, Any]], rows: list[dict[str, Any]], fail_below: float
    ) -> list[Regression]:
        for missing in not_run(baseline, rows):
            self.stderr.write(f"Not compared: the baseline has {missing}, which was not measured now")
        return regressions(baseline, rows, fail_below)

    def _evaluated(self, datasets: list[Dataset], options: dict[str, Any]) -> Iterator[Evaluated]:
        """Each configuration as it finishes; a line says what it reached."""
        configurations = [configuration_named(name) for name in _names(options)]
        for dataset in datasets:
            for path in options["run"]:
                yield Evaluated(dataset, path.stem, read_run(path))
            library_uid = self._library(dataset, options) if configurations else None
            for configuration in configurations:
                progress = _progress(dataset, configuration.name)
                evaluated = evaluate(dataset, configuration, library_uid, SearchService(), progress)
                reached = evaluated.measured()
                self.stderr.write(f"{dataset.name}, {configuration.name}: nDCG@10 {reached.ndcg_10:.4f}")
                if options["runs"] is not None:
                    options["runs"].mkdir(parents=True, exist_ok=True)
                    name = configuration.name
                    write_run(options["runs"] / f"{dataset.name}.{name}.trec", evaluated.run, name)
                yield evaluated

    def _floors(self, datasets: list[Dataset], options: dict[str, Any]) -> Iterator[FloorMeasured]:
        for dataset in datasets:
            others = [other for other in datasets if other is not dataset]
            progress = _progress(dataset, "floors")
            uid = self._library(dataset, options)
            yield from measure_floors(dataset, uid, others, options["floors"], SearchService(), progress)

    def _library(self, dataset: Dataset, options: dict[str, Any]) -> str:
        name = options["library"] or f"eval {dataset.name}"
        if options["ingest"]:
            arguments = ("--library", name, "--type", options["library_type"])
            # Standard output is for the measures: it may become a baseline.
            call_command("ingest", str(dataset.corpus), *arguments, stdout=self.stderr, stderr=self.stderr)
        found = [entry.uid for entry in libraries(Scope()) if entry.name == name]
        if not found:
            raise InvalidRequest("library", f"there is no library {name!r}; add --ingest to make it")
        return found[0]


def _check(options: dict[str, Any]) -> None:
    """Raise `InvalidRequest` for values that would be compared with nothing, or with the wrong thing."""
    for name, values in (("fail_below", [options["fail_below"]]), ("floors", options["floors"])):
        if not all(math.isfinite(value) and 0 <= value <= 1 for value in values):
            raise InvalidRequest(name, "must be a number from 0 to 1")
    stems = Counter([*(path.stem for path in options["run"]), *CONFIGURATIONS])
    repeated = sorted(stem for stem, count in stems.items() if count > 1)
    if repeated:
        raise InvalidRequest("run", f"two are called {', '.join(repeated)}; give the files names of their own")


def _datasets(options: dict[str, Any]) -> list[Dataset]:
    if options["dataset"]:
        return [read_dataset(folder, options["split"], options["qrels"]) for folder in options["dataset"]]
    if options["qrels"] is None or not options["run"] or _names(options):
        raise InvalidRequest("dataset", "name a collection's folder, or --qrels and --run to measure run files alone")
    return [dataset_of_qrels(options["qrels"])]


def _names(options: dict[str, Any]) -> list[str]:
    """The configurations to run; those to compare are among them, unless they are run files."""
    given = options["config"]
    if given is None:
        given = [] if options["run"] else list(DEFAULT_CONFIGURATIONS if not options["compare"] else ())
    files = {path.stem for path in options["run"]}
    compared = [name for name in options["compare"] or () if name not in files]
    return list(dict.fromkeys([*given, *compared]))


def _compared(dataset: Dataset, evaluated: list[Evaluated], options: dict[str, Any]) -> Comparison:
    measure = options["measure"]
    values = {one.configuration: one.of_each(measure) for one in evaluated if one.dataset is dataset}
    first, second = options["compare"]
    return compare(measure, (first, values[first]), (second, values[second]))


def _progress(dataset: Dataset, name: str) -> Callable[[Iterable[Any]], Iterable[Any]]:
    def wrapped(queries: Iterable[Any]) -> Iterable[Any]:
        return tqdm(queries, desc=f"{dataset.name}, {name}", file=sys.stderr, disable=None)

    return wrapped
