"""From the ranked list to what is shown: one page, grouped by item where asked, with passages and context."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from library.exceptions import GraphError
from library.graph.hydrate import facet_counts, neighbours
from library.services.passages import best_passage
from library.services.present import query_words, word_hits
from library.services.ranking import hydrate
from library.services.run import SearchRun
from library.services.types import Facets, SearchCandidate

# The part of a query's words that a text must hold to count as an answer by its words alone.
WORD_COVERAGE = 0.5
# How much nearer a vector must be where not one word of the query was found. Measured, see docs/relevance.md: a real
# question nearly always shares some word with what it finds, letters at random never do.
NO_WORD = 0.06


def page_of(run: SearchRun, ranked: Sequence[SearchCandidate], text: str) -> list[SearchCandidate]:
    """The candidates from `offset` on, at most `limit`, with all that is shown of them.

    Grouping comes before the cut, so that a page has `limit` items where there are as many.
    """
    request = run.request
    listed = one_an_item(ranked) if request.group_by == "item" else ranked
    wanted = enumerate(listed[request.offset : request.offset + request.limit], start=request.offset + 1)
    shown, _ = hydrate(run, [replace(candidate, rank=rank) for rank, candidate in wanted])
    words = query_words(text)
    shown = [_with_passage(candidate, words) for candidate in shown]
    return _with_context(run, shown) if request.expand else shown


def one_an_item(ranked: Sequence[SearchCandidate]) -> list[SearchCandidate]:
    """The best chunk of each item, in order; `metadata["other_chunks"]` counts the others that were found."""
    counts = Counter(candidate.item_uid for candidate in ranked)
    best: dict[str, SearchCandidate] = {}
    for candidate in ranked:
        best.setdefault(candidate.item_uid, candidate)
    return [
        replace(candidate, metadata={**candidate.metadata, "other_chunks": counts[candidate.item_uid] - 1})
        for candidate in best.values()
    ]


def _with_passage(candidate: SearchCandidate, words: frozenset[str]) -> SearchCandidate:
    passage = best_passage(candidate.text, words)
    return replace(
        candidate,
        metadata={
            **candidate.metadata,
            "passage": {"text": passage.text, "start": passage.start, "highlights": passage.highlights},
        },
    )


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


@dataclass(frozen=True, slots=True)
class Strength:
    """How near the best of a page comes: by its vector, (1 + cosine) / 2, None without vectors; by the query's words.

    `coverage` is the largest part of the query's words that one text holds, 0 to 1; 0 for a query without words.
    """

    similarity: float | None
    coverage: float

    def is_below(self, floor: float) -> bool:
        """Whether nothing is an answer: no text holds half of the words, and no vector is as near as the floor.

        Where some of the words were found, a vector may be farther by `NO_WORD`.
        """
        if self.similarity is None or self.coverage >= WORD_COVERAGE:
            return False
        return self.similarity < (floor - NO_WORD if self.coverage else floor)


def strength_of(page: Sequence[SearchCandidate], text: str) -> Strength:
    """The strength of what was found for the plain words of a query."""
    return Strength(_similarity(page), _coverage(page, query_words(text)))


def _similarity(page: Sequence[SearchCandidate]) -> float | None:
    scores = [score for hit in page if (score := hit.score_breakdown.get("semantic_score")) is not None]
    return max(scores, default=None)


def _coverage(page: Sequence[SearchCandidate], words: frozenset[str]) -> float:
    found = (len({hit.word for hit in word_hits(candidate.text, words)}) for candidate in page)
    return max(found, default=0) / len(words) if words else 0.0


def has_no_good_match(run: SearchRun, page: Sequence[SearchCandidate], text: str) -> bool:
    """Whether nothing found is an answer. The floor is compared with similarities of vectors and nothing else.

    Only the first page is judged; without vectors, only a search that finds nothing has no good match.
    """
    if run.request.offset:
        return False
    if not page:
        return True
    # Texts are searched for words only where no vector is near enough: most pages have one.
    similarity, floor = _similarity(page), run.config.relevance_floor
    if similarity is None or similarity >= floor:
        return False
    return strength_of(page, text).is_below(floor)
