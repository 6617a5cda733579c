"""`python -m benchmarks --data PATH`: measure, print the tables, and keep them. Run by `make bench`.

What imports the product is imported inside the functions: Django is set up by `services.prepare`.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks import corpus, machine, plot, report, services, startup
from benchmarks.data import DataError, Dataset, Vectors, document_vectors, query_vectors, read
from benchmarks.services import Bench
from benchmarks.targets import missed, with_growth
from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.progress import Progress

MEASURES: Final = ("startup", "reranking", "ingest", "latency", "throughput", "recall")
ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "performance.md"
PLOT: Final = ROOT / "docs" / "performance.svg"
WARM_UP: Final = 40

# Uids, vectors and libraries of all chunks, in one order.
Corpus = tuple[list[str], Vectors, list[str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 when everything asked for was measured, also where a target was missed; 2 for bad input."""
    options = _parser().parse_args(arguments)
    only = options.only.split(",") if options.only else list(MEASURES)
    unknown = sorted(set(only) - set(MEASURES))
    try:
        if unknown:
            raise DataError(f"--only knows {', '.join(MEASURES)}, not {', '.join(unknown)}")
        if 0 < options.large < corpus.RARE:
            raise DataError(f"--large must be 0 or at least {corpus.RARE}, so that there is a rare library")
        data = read(options.data)
        bench = services.prepare(options.state.resolve(), options.fresh, Progress())
    except (DataError, LocalStackError) as error:
        print(f"make bench stopped: {error}", file=sys.stderr)
        return 2
    try:
        results = _measured(bench, data, only, options)
    finally:
        services.stop(bench)
    _keep(results, to_docs=options.docs or not options.only)
    print("Missed: " + ("; ".join(missed(results)) or "none"))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a BEIR folder, such as SciFact")
    parser.add_argument("--only", help=f"some of {', '.join(MEASURES)}, by commas; then the docs are left alone")
    parser.add_argument("--docs", action="store_true", help="put the tables into the docs also with --only")
    parser.add_argument("--state", type=Path, default=ROOT / ".mnemosyne" / "bench", help="where the services live")
    parser.add_argument("--fresh", action="store_true", help="delete that folder and make everything anew")
    parser.add_argument("--large", type=int, default=100_000, help="chunks of the large corpus; 0 leaves it out")
    parser.add_argument("--questions", type=int, default=300, help="distinct questions (default: %(default)s)")
    return parser


def _measured(bench: Bench, data: Dataset, only: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    started = time.perf_counter()
    results: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": f"make bench DATA=PATH/TO/{data.folder.name}",
        **machine.describe(),
    }
    if "startup" in only:
        results["startup"] = startup.measure()
    if "reranking" in only:
        from benchmarks import reranking

        results["reranking"] = reranking.measure(bench, data)
    if {"ingest", "latency", "throughput", "recall"} & set(only):
        _small(bench, data, only, options, results)
    if options.large and {"latency", "throughput", "recall"} & set(only):
        _large(bench, data, only, options, results)
    results["minutes"] = (time.perf_counter() - started) / 60
    return with_growth(results)


def _small(
    bench: Bench, data: Dataset, only: Sequence[str], options: argparse.Namespace, results: dict[str, Any]
) -> None:
    """The collection as the product takes it in."""
    from benchmarks import ingest, load

    with services.neo4j(bench, "small") as service:
        if "ingest" in only or load.chunk_count() < len(data.documents):
            load.prepare(bench)
            results["ingest"] = ingest.take_in(bench, data, "ingest" in only)
        results["small"] = _searched(bench, service, data, load.stored(), None, only, options.questions)


def _large(
    bench: Bench, data: Dataset, only: Sequence[str], options: argparse.Namespace, results: dict[str, Any]
) -> None:
    """Many chunks made from the collection's, with a library that holds one in a thousand."""
    from benchmarks import load

    vectors, phrases = document_vectors(bench, data), load.phrases_of(bench, data)
    rows = list(corpus.large(data.documents, phrases, options.large))
    noisy = corpus.noisy(vectors, options.large)
    with services.neo4j(bench, "large") as service:
        load.load(bench, rows, noisy)
        made = ([row.uid for row in rows], noisy, [load.library_uid(row.library) for row in rows])
        rare = load.library_uid(corpus.LIBRARIES)
        results["large"] = _searched(bench, service, data, made, rare, only, options.questions)


def _searched(
    bench: Bench, service: Any, data: Dataset, chunks: Corpus, rare: str | None, only: Sequence[str], count: int
) -> dict[str, Any]:
    from benchmarks import given, latency, recall, throughput

    # Questions of the collection first, then titles, so that there are enough distinct ones.
    texts = list(dict.fromkeys([*data.questions, *data.titles]))[: WARM_UP + count]
    vectors = query_vectors(bench, texts)
    given.give(texts, vectors)
    found: dict[str, Any] = {"chunks": len(chunks[0])}
    if "latency" in only:
        numbers = list(range(len(texts)))
        found["latency"] = latency.measure(bench, service, texts, vectors, numbers[:WARM_UP], numbers[WARM_UP:], chunks)
    if "throughput" in only:
        many = list(dict.fromkeys([*data.questions, *data.titles]))[: 4 * count]
        found["throughput"] = throughput.measure(bench, service, many, query_vectors(bench, many))
    if "recall" in only:
        found["recall"] = recall.measure(vectors, chunks, rare)
    return found


def _keep(results: dict[str, Any], to_docs: bool) -> None:
    """Print the tables, and put them into the docs."""
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    (folder / "latest.json").write_text(json.dumps(results, indent=2), encoding="utf-8")
    drawn = to_docs and plot.draw(results, PLOT)
    made = report.markdown(results, PLOT.name if drawn else None)
    print(made)
    if to_docs:
        report.write_page(PAGE, made)


if __name__ == "__main__":
    sys.exit(main())
