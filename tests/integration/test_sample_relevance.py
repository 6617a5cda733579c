"""Relevance on the sample library: its questions, asked of the real search with the real models.

`pytest -s` prints the report of docs/relevance.md.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from library.evaluation import metrics
from library.evaluation.floor import QUESTIONS, gibberish
from library.evaluation.report import as_text
from library.evaluation.runner import Evaluated, configuration_named, evaluate
from library.evaluation.significance import compare
from library.graph import session
from library.ingest.sample import SAMPLE_DIR, TOPICS_FOLDER, export_python_topics, sample_libraries
from library.services.requests import build_request
from library.services.search import SearchService
from tests.sample_questions import answers, dataset, document, of_many_answers, renamed

pytestmark = [pytest.mark.neo4j, pytest.mark.models, pytest.mark.slow, pytest.mark.django_db]

CHUNKS_QUERY = "MATCH (i:Item)-[:HAS_CHUNK]->(c:Chunk) RETURN i.source AS source, c.text AS text"


@pytest.fixture
def sample(graph: None, system_models: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    """The whole sample library; what is asked is the order, not the speed of a machine that may be busy."""
    settings.SEARCH_LEG_TIMEOUT = 60.0
    settings.RERANKER_TIMEOUT = 300.0
    export_python_topics(tmp_path / TOPICS_FOLDER)
    for library in sample_libraries():
        folder = SAMPLE_DIR / library.folder if library.folder else tmp_path / TOPICS_FOLDER
        call_command("ingest", str(folder), "--library", library.name, "--type", library.library_type)
    yield


def asked(name: str) -> Evaluated:
    evaluated = renamed(evaluate(dataset(), configuration_named(name), None, SearchService()))
    assert (evaluated.measured().failed, evaluated.degraded) == (0, frozenset())
    return evaluated


def precision_of_many(evaluated: Evaluated) -> float:
    """P@5 over the questions that five items or more answer."""
    judged = evaluated.dataset.qrels
    uids = [query.uid for query in evaluated.dataset.queries if of_many_answers(judged[query.uid])]
    return sum(metrics.precision(list(evaluated.run[uid]), judged[uid], 5) for uid in uids) / len(uids)


def shown(evaluated: Evaluated) -> dict[str, Any]:
    measured = evaluated.measured()
    return {
        "configuration": measured.configuration,
        "nDCG@10": measured.ndcg_10,
        "MRR@10": measured.mrr_10,
        "P@5 of many": precision_of_many(evaluated),
        **{kind.question_type: kind.ndcg_10 for kind in evaluated.by_type()},
    }


def test_the_sample_answers_its_questions(sample: None) -> None:
    chunks = [(document(row["source"]), row["text"]) for row in session.read(CHUNKS_QUERY, {})]
    assert len(chunks) >= 150
    judged = dataset().qrels
    texts = {uid: " ".join(text for name, text in chunks if name in judged[uid]) for uid in judged}
    missing = [uid for uid, _, answer in answers() if _plain(answer) not in _plain(texts[uid])]
    assert missing == []

    runs = {name: asked(name) for name in ("vector", "fulltext", "rrf", "linear", "hybrid", "default+rerank")}
    compared = [
        compare("ndcg_10", (a, runs[a].of_each("ndcg_10")), (b, runs[b].of_each("ndcg_10")))
        for a, b in (("vector", "hybrid"), ("rrf", "linear"), ("hybrid", "default+rerank"))
    ]
    print("\n" + as_text({"measured": [shown(run) for run in runs.values()]}, "table"))
    for one in compared:
        print(f"{one.first} -> {one.second}: {one.difference:+.4f}, p {one.t_test_p:.3f} / {one.randomisation_p:.3f}")

    best = runs["default+rerank"].measured()
    assert best.ndcg_10 >= 0.85
    assert best.mrr_10 >= 0.8
    assert precision_of_many(runs["default+rerank"]) >= 0.8
    # Fusing is worth it: the whole is not worse than the better of its parts by more than one in a hundred.
    legs = max(runs["vector"].measured().ndcg_10, runs["fulltext"].measured().ndcg_10)
    assert runs["hybrid"].measured().ndcg_10 >= 0.99 * legs

    real = [_has_no_good_match(query.text) for query in dataset().queries]
    nonsense = [_has_no_good_match(text) for text in gibberish(QUESTIONS)]
    print(f"called unanswered: {sum(real)} of {len(real)} questions, {sum(nonsense)} of {len(nonsense)} of letters")
    assert sum(real) <= 0.05 * len(real)
    assert sum(nonsense) >= 0.9 * len(nonsense)


def _has_no_good_match(text: str) -> bool:
    return SearchService().search(build_request(text, rerank=False, include_images=False)).no_good_match


def _plain(text: str) -> str:
    """The text without white space and markup, so that neither line ends nor emphasis matter."""
    return re.sub(r"[\s*`]+", "", text)
