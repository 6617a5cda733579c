"""Results as Markdown, and into the page of the documentation that they stand in. Pure but for reading files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.targets import TARGETS

BEGIN: Final = "<!-- made by `make bench`: begin -->"
END: Final = "<!-- made by `make bench`: end -->"
SIDES: Final = (
    "hybrid",
    "lexical_first",
    "neo4j-graphrag",
    "langchain-neo4j",
    "vector leg",
    "fulltext leg",
    "graph leg",
)


def markdown(results: Mapping[str, Any], plot: str | None = None) -> str:
    """Everything that a run measured, as tables."""
    lines = [*_about(results), "", "### Targets", "", *_targets(results), *_latency(results), *_throughput(results)]
    lines += [*_rest(results)]
    if plot is not None:
        lines += ["", f"![p50 by side and corpus, and searches a second]({plot})"]
    return "\n".join(lines) + "\n"


def replaced(page: str, made: str) -> str:
    """The page with what stands between the marks replaced. Raises ValueError where a mark is missing."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{made}\n{END}{after}"


def write_page(path: Path, made: str) -> None:
    """Put the tables into the page."""
    path.write_text(replaced(path.read_text(encoding="utf-8"), made), encoding="utf-8")


def _about(results: Mapping[str, Any]) -> Iterator[str]:
    machine = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    yield f"Measured on {results['date']} by `{results['command']}` in {results['minutes']:.0f} minutes."
    yield ""
    yield f"Machine: {machine['cores']} cores, {machine['cpu']}, {machine['memory_gb']} GB, {machine['system']}."
    yield f"Versions: {versions}. Neo4j with {results['neo4j']}."
    sizes = [f"{size} {results[size]['chunks']:,} chunks" for size in ("small", "large") if size in results]
    yield f"Corpora: {', '.join(sizes) or 'none searched'}. Response cache: none."


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]


def _targets(results: Mapping[str, Any]) -> list[str]:
    rows = []
    for target in TARGETS:
        value = target.value(results)
        if value is not None:
            verdict = "reached" if target.is_met(value) else "**missed**"
            rows.append([target.what, target.bound, f"{value:.{target.digits}f}", verdict])
    return _table(["what", "to reach", "measured", ""], rows)


def _latency(results: Mapping[str, Any]) -> list[str]:
    sizes = [size for size in ("small", "large") if "latency" in results.get(size, {})]
    if not sizes:
        return []
    head = ["one caller"]
    for size in sizes:
        head += [f"{size}: p50 ms", "p95 ms", "failed", "nearest 10 in the first 20"]
    rows = []
    for side in SIDES:
        row = [side]
        for size in sizes:
            found = results[size]["latency"]
            complete = found["completeness"].get(side)
            row += [f"{found['p50_ms'][side]:.1f}", f"{found['p95_ms'][side]:.1f}", str(found["failed"][side])]
            row.append("" if complete is None else f"{complete:.3f}")
        rows.append(row)
    return ["", "### One caller at a time", "", *_table(head, rows)]


def _throughput(results: Mapping[str, Any]) -> list[str]:
    rows = []
    for size in ("small", "large"):
        for side in ("gunicorn", "neo4j-graphrag"):
            found = results.get(size, {}).get("throughput", {}).get(side)
            if found is not None:
                numbers = [f"{found[name]:.1f}" for name in ("per_second", "p50_ms", "p95_ms")]
                rows.append([f"{side}, {size}", *numbers, str(found["searches"]), str(found["errors"])])
    head = ["16 callers at once", "searches a second", "p50 ms", "p95 ms", "answered", "errors"]
    return ["", "### Sixteen callers", "", *_table(head, rows)] if rows else []


def _rest(results: Mapping[str, Any]) -> Iterator[str]:
    ingest, startup, reranking = (results.get(name) for name in ("ingest", "startup", "reranking"))
    if ingest or startup or reranking:
        yield from ("", "### Ingest, start-up, re-ranking", "")
    if ingest:
        yield f"- Ingest of {ingest['chunks']:,} passages: {ingest['ingest_s']:.0f} s; embedding the same passages by "
        yield f"  the bare model server: {ingest['bare_s']:.0f} s."
    if startup:
        heavy = ", ".join(startup["heavy"]) or "none"
        yield f"- `manage.py search`: {startup['search_s']:.2f} s in all, {startup['django_s']:.2f} s of them a bare"
        yield f"  `manage.py version`; {startup['packages']} packages imported, of the heavy ones: {heavy}."
    if reranking:
        ms = reranking["ms"]
        yield f"- Re-ranking {reranking['passages']} passages of about 250 tokens: {ms['naive']:.0f} ms in one padded"
        yield f"  batch, {ms['first']:.0f} ms by the model server for passages never seen,"
        yield f"  {ms['known']:.0f} ms for known ones."
