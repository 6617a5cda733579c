"""The graph leg's second pass: from the best fused hits, by their concepts, to chunks that no word or vector finds.

Multi-hop questions need it: the passage that answers is named in a passage that the question describes, and nowhere
in the question. docs/relevance.md has what it is worth.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from library.exceptions import GraphError, GraphTimeout
from library.services.legs import Outcome
from library.services.retrievers.base import RetrievalQuery
from library.services.retrievers.neighbourhood import neighbourhood
from library.services.run import SearchRun
from library.services.types import LegReport, LegStatus, SearchCandidate

log = logging.getLogger(__name__)

# Concepts found by the query's words are weaker evidence than those of its best hits.
FIRST_PASS_SHARE: Final = 0.5


def with_second_pass(
    run: SearchRun, query: RetrievalQuery, outcomes: Mapping[str, Outcome], fused: Sequence[SearchCandidate]
) -> Mapping[str, Outcome]:
    """The outcomes with a graph leg that has both passes; unchanged where it is not asked for, or has no time left.

    A second pass that fails costs its own hits only, and the response says so.
    """
    seeds = [candidate.chunk_uid for candidate in fused[: run.config.graph_seed_hits]]
    seconds = run.config.leg_timeout - run.elapsed_ms() / 1000
    first = outcomes.get("graph")
    if first is None or not seeds or seconds <= 0 or run.request.graph_max_depth == 0:
        return outcomes
    started = time.perf_counter()
    try:
        found = neighbourhood(seeds, query, run.request.scope, seconds)
    except GraphError as error:
        log.warning("The second pass of the graph leg failed: %s", error, exc_info=error.__cause__)
        run.reports["graph"] = _cut_short(first.report, error)
        return outcomes
    hits = merged(first.hits, found)
    spent = first.report.time_ms + 1000 * (time.perf_counter() - started)
    failed = first.report.status not in ("ok", "empty")
    report = (
        replace(first.report, time_ms=spent, count=len(hits))
        if failed
        else LegReport("ok" if hits else "empty", "", spent, len(hits))
    )
    run.reports["graph"] = report
    return {**outcomes, "graph": Outcome(hits, report)}


def _cut_short(report: LegReport, error: GraphError) -> LegReport:
    """The report of a leg whose second pass failed: it keeps its hits, and is not whole."""
    if report.status not in ("ok", "empty"):
        return report
    status: LegStatus = "timeout" if isinstance(error, GraphTimeout) else "error"
    return replace(report, status=status, reason=f"without its second pass: {error}")


def merged(first: Sequence[SearchCandidate], second: Sequence[SearchCandidate]) -> list[SearchCandidate]:
    """Both passes in one list; a chunk of both keeps the better of its scores, those of the first being halved."""
    best: dict[str, SearchCandidate] = {hit.chunk_uid: hit for hit in second}
    for hit in first:
        weaker = replace(hit, score=FIRST_PASS_SHARE * hit.score)
        known = best.get(hit.chunk_uid)
        if known is None or weaker.score > known.score:
            best[hit.chunk_uid] = weaker
        else:
            # The way from a word of the query is the plainer reason.
            best[hit.chunk_uid] = replace(known, metadata=hit.metadata)
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.chunk_uid))
