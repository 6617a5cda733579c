"""From the ranked list to what is shown: one page, grouped by item where asked, with passages and context."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace

from library.exceptions import GraphError
from library.graph.hydrate import facet_counts, neighbours
from library.services.passages import best_passage
from library.services.present import query_words, word_hits
from library.services.ranking import hydrate
from library.services.run import SearchRun
from library.services.types import Facets, SearchCandidate

# The part of a query's words that a text must hold to count as an answer by its words alone.
WORD_COVERAGE = 0.5


def page_of(run: SearchRun, ranked: Sequence[SearchCandidate], text: str) -> list[SearchCandidate]:
    """The candidates from `offset` on, at most `limit`, with all that is shown of them.

    Grouping comes before the cut, so that a page has `limit` items where there are as many.
    """
    request = run.request
    numbered = [replace(candidate, rank=rank) for rank, candidate in enumerate(ranked, start=1)]
    if request.group_by == "item":
        numbered = one_an_item(numbered)
    shown, _ = hydrate(run, numbered[request.offset : request.offset + request.limit])
    words = query_words(text)
    shown = [_with_passage(candidate, words) for candidate in shown]
    return _with_context(run, shown) if request.expand else shown


def one_an_item(ranked: Sequence[SearchCandidate]) -> list[SearchCandidate]:
    """The best chunk of each item, ranked anew; `metadata["other_chunks"]` counts the others that were found."""
    counts = Counter(candidate.item_uid for candidate in ranked)
    best: dict[str, SearchCandidate] = {}
    for candidate in ranked:
        best.setdefault(candidate.item_uid, candidate)
    return [
        replace(candidate, rank=rank, metadata={**candidate.metadata, "other_chunks": counts[candidate.item_uid] - 1})
        for rank, candidate in enumerate(best.values(), start=1)
    ]


def _with_passage(candidate: SearchCandidate, words: frozenset[str]) -> SearchCandidate:
    passage = best_passage(candidate.text, words)
    return replace(candidate, metadata={**candidate.metadata, "passage": asdict(passage)})


def _with_context(run: SearchRun, shown: Sequence[SearchCandidate]) -> list[SearchCandidate]:
    """Each candidate with the texts of the chunks around it, in order, under `metadata["context"]`."""
    uids = [candidate.chunk_uid for candidate in shown]
    try:
        around = neighbours(uids, run.request.expand, run.read_timeout())
    except GraphError as error:
        run.left_out("the context of the passages", error)
        return list(shown)
    return [
        replace(candidate, metadata={**candidate.metadata, "context": around.get(candidate.chunk_uid, [])})
        for candidate in shown
    ]


def facets_of(run: SearchRun, candidates: Sequence[SearchCandidate]) -> Facets | None:
    """Counts over all candidates, of every page; None where they were not asked for, or could not be had."""
    if not run.request.facets:
        return None
    try:
        return facet_counts([candidate.chunk_uid for candidate in candidates], run.read_timeout())
    except GraphError as error:
        run.left_out("the facets", error)
        return None


def has_no_good_match(run: SearchRun, page: Sequence[SearchCandidate], text: str) -> bool:
    """Whether nothing found is an answer: all vectors are farther than the floor, and no text holds the words.

    The floor is one of vector similarity, (1 + cosine) / 2, and is compared with nothing else. Only the first page is
    judged; without vectors, only a search that finds nothing has no good match.
    """
    if run.request.offset:
        return False
    if not page:
        return True
    similarities = [score for hit in page if (score := hit.score_breakdown.get("semantic_score")) is not None]
    if not similarities or max(similarities) >= run.config.relevance_floor:
        return False
    words = query_words(text)
    if not words:
        return True
    covered = max(len({hit.word for hit in word_hits(candidate.text, words)}) for candidate in page)
    return covered < WORD_COVERAGE * len(words)
