"""The parts of the model server that need no model: order of work, cache, sentences, scores."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest

from mnemosyne.local.model_server import rerank
from mnemosyne.local.model_server.encoder import Vectors
from mnemosyne.local.model_server.errors import ApiError
from mnemosyne.local.model_server.rerank import Passage, Query, score, telling_tokens
from mnemosyne.local.model_server.sentences import sentence_spans
from mnemosyne.local.model_server.vector_cache import VectorCache
from mnemosyne.local.model_server.workers import Urgency, Workers


class Blocked:
    """One worker that is held at its first item until let go, so that a queue builds up behind it."""

    def __init__(self, capacity: int = 100) -> None:
        self.workers = Workers(threads=1, capacity=capacity)
        self.done: list[str] = []
        self._started = threading.Event()
        self._let_go = threading.Event()
        self._threads: list[threading.Thread] = []
        self.submit("first", Urgency.BULK, self._hold)
        self._started.wait()

    def _hold(self, name: str) -> None:
        self._started.set()
        self._let_go.wait()
        self.done.append(name)

    def submit(self, name: str, urgency: Urgency, work: object = None) -> None:
        function = self._hold if work is not None else self.done.append
        before = self.workers.waiting
        thread = threading.Thread(target=self.workers.map, args=(function, [name], urgency))
        thread.start()
        self._threads.append(thread)
        while work is None and self.workers.waiting == before:
            pass

    def finish(self) -> list[str]:
        self._let_go.set()
        for thread in self._threads:
            thread.join()
        return self.done


def test_a_search_is_served_before_an_ingest_that_came_first() -> None:
    blocked = Blocked()
    blocked.submit("ingest", Urgency.BULK)
    blocked.submit("rerank", Urgency.RERANK)
    blocked.submit("query", Urgency.QUERY)
    assert blocked.finish() == ["first", "query", "rerank", "ingest"]


def test_work_of_equal_urgency_is_done_in_the_order_it_came() -> None:
    blocked = Blocked()
    for name in ("a", "b", "c"):
        blocked.submit(name, Urgency.BULK)
    assert blocked.finish() == ["first", "a", "b", "c"]


def test_a_full_queue_refuses_a_request_as_a_whole() -> None:
    blocked = Blocked(capacity=2)
    with pytest.raises(ApiError) as caught:
        blocked.workers.map(str, [1, 2, 3], Urgency.QUERY)
    assert caught.value.status == 503
    assert blocked.finish() == ["first"]


def test_results_come_in_the_order_of_the_items_and_errors_reach_the_caller() -> None:
    workers = Workers(threads=3, capacity=100)
    assert workers.map(lambda number: number * 2, list(range(50)), Urgency.BULK) == list(range(0, 100, 2))
    with pytest.raises(ZeroDivisionError):
        workers.map(lambda number: 1 // number, [1, 0], Urgency.BULK)
    assert workers.map(str, [1], Urgency.BULK) == ["1"]


@dataclass(frozen=True)
class Entry:
    nbytes: int


def test_the_cache_gives_up_what_was_used_longest_ago() -> None:
    cache: VectorCache[Entry] = VectorCache(capacity=100)
    for text in ("a", "b", "c"):
        cache.put(text, Entry(30))
    cache.get("a")
    cache.put("d", Entry(30))
    assert [text for text in "abcd" if cache.get(text) is not None] == ["a", "c", "d"]
    assert cache.held == 90


def test_the_cache_never_holds_more_than_it_may() -> None:
    cache: VectorCache[Entry] = VectorCache(capacity=100)
    cache.put("too large", Entry(101))
    assert cache.get("too large") is None
    cache.put("a", Entry(60))
    cache.put("a", Entry(80))
    assert cache.held == 80
    cache.put("b", Entry(100))
    assert cache.held == 100
    assert cache.get("a") is None


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", [""]),
        ("One sentence without an end", ["One sentence without an end"]),
        (
            "A first sentence that is long. A second one that is long too?  The third is the last one!",
            ["A first sentence that is long. ", "A second one that is long too?  ", "The third is the last one!"],
        ),
        (
            "Title of the document\n\nThe text that follows it.",
            ["Title of the document\n\n", "The text that follows it."],
        ),
        ("Short. A longer sentence follows here. Yes.", ["Short. A longer sentence follows here. Yes."]),
    ],
)
def test_sentences_cover_the_text(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


def rows(*vectors: tuple[float, float]) -> Vectors:
    return np.array(vectors, dtype=np.float32)


def passage(tokens: Vectors, sentences: list[int], windows: Vectors) -> Passage:
    return Passage(
        tokens=tokens.astype(np.float16),
        windows=windows.astype(np.float16),
        sentences=np.array(sentences, dtype=np.int32),
        token_count=len(tokens),
    )


EAST, NORTH, SLOPE = (1.0, 0.0), (0.0, 1.0), (0.6, 0.8)


def test_a_passage_that_says_everything_in_every_way_scores_1() -> None:
    query = Query(tokens=rows(EAST, NORTH), whole=np.array(EAST, dtype=np.float32), token_count=2)
    assert score(query, passage(rows(EAST, NORTH), [0], rows(EAST))) == pytest.approx(1.0)


def test_the_score_is_the_weighted_sum_of_three_cosines() -> None:
    # Query tokens east and north; the passage's one token is (0.6, 0.8): best cosines 0.6 and 0.8, on average 0.7,
    # in its one sentence, which is its best three too. The wholes have a cosine of 0.6.
    query = Query(tokens=rows(EAST, NORTH), whole=np.array(EAST, dtype=np.float32), token_count=2)
    expected = rerank.SENTENCE_WEIGHT * 0.7 + rerank.NEAR_WEIGHT * 0.7 + rerank.PASSAGE_WEIGHT * 0.6
    assert score(query, passage(rows(SLOPE), [0], rows(SLOPE))) == pytest.approx(expected, abs=1e-3)


def test_the_best_window_of_a_long_passage_counts() -> None:
    query = Query(tokens=rows(EAST), whole=np.array(EAST, dtype=np.float32), token_count=1)
    tokens = rows(NORTH, EAST)
    assert score(query, passage(tokens, [0], rows(NORTH, EAST))) == score(query, passage(tokens, [0], rows(EAST)))


def test_words_said_in_one_place_score_above_words_scattered() -> None:
    query = Query(tokens=rows(EAST, NORTH), whole=np.array(EAST, dtype=np.float32), token_count=2)
    filler = (-1.0, 0.0)
    together = passage(rows(EAST, NORTH, filler, filler, filler), [0, 1, 2, 3, 4], rows(EAST))
    scattered = passage(rows(EAST, filler, filler, filler, NORTH), [0, 1, 2, 3, 4], rows(EAST))
    # Scattered: the best three sentences have one of the two words, the other's best cosine there is 0.
    assert score(query, together) - score(query, scattered) == pytest.approx(rerank.NEAR_WEIGHT * 0.5, abs=1e-3)


def test_one_sentence_that_says_it_all_scores_above_two_that_share_it() -> None:
    query = Query(tokens=rows(EAST, NORTH), whole=np.array(EAST, dtype=np.float32), token_count=2)
    one = passage(rows(EAST, NORTH), [0], rows(EAST))
    two = passage(rows(EAST, NORTH), [0, 1], rows(EAST))
    # Each of the two sentences has one of the words, and 0 for the other.
    assert score(query, one) - score(query, two) == pytest.approx(rerank.SENTENCE_WEIGHT * 0.5, abs=1e-3)


def test_the_weights_add_up_to_1() -> None:
    total = rerank.SENTENCE_WEIGHT + rerank.NEAR_WEIGHT + rerank.PASSAGE_WEIGHT
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "offsets", "telling"),
    [
        ("what is a lathe?", [(0, 4), (5, 7), (8, 9), (10, 12), (12, 15), (15, 16)], [3, 4]),
        ("Who? The Who!", [(0, 3), (3, 4), (5, 8), (9, 12), (12, 13)], []),
        ("it's red", [(0, 2), (2, 3), (3, 4), (5, 8)], [3]),
        ("", [], []),
    ],
)
def test_function_words_and_punctuation_of_a_query_do_not_count(
    text: str, offsets: list[tuple[int, int]], telling: list[int]
) -> None:
    assert telling_tokens(text, offsets) == telling
