"""The questions over the sample library: what they ask, and which items answer.

`tests/data/sample_questions` has the BEIR layout without a corpus, for that is the sample library itself. A document is
an item, named by its folder and file. 2 says that the item answers, 1 that it adds to the answer.
docs/relevance.md says how they were judged. A question with an `answer` shares no content word with it.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from library.evaluation.runner import Evaluated
from library.evaluation.trec import Dataset, Query, Run, read_qrels

FOLDER = Path(__file__).parent / "data" / "sample_questions"


def questions() -> list[dict[str, Any]]:
    """The lines of queries.jsonl."""
    return [json.loads(line) for line in (FOLDER / "queries.jsonl").read_text(encoding="utf-8").splitlines()]


def answers() -> Iterator[tuple[str, str, str]]:
    """Uid, question and answer of those that share no content word with it."""
    for row in questions():
        if "answer" in row["metadata"]:
            yield row["_id"], row["text"], row["metadata"]["answer"]


def dataset() -> Dataset:
    """All questions with their judgements."""
    asked = tuple(Query(row["_id"], row["text"], row["metadata"]["question_type"]) for row in questions())
    return Dataset("sample", FOLDER, asked, read_qrels(FOLDER / "qrels" / "test.tsv"))


def document(source: str) -> str:
    """An item's name in the judgements."""
    return "/".join(Path(source).parts[-2:])


def renamed(evaluated: Evaluated) -> Evaluated:
    """The same run with documents named as the judgements name them."""
    run: Run = {
        query: {document(source): score for source, score in ranking.items()}
        for query, ranking in evaluated.run.items()
    }
    return Evaluated(evaluated.dataset, evaluated.configuration, run, evaluated.seconds, evaluated.degraded)


def of_many_answers(judged: Mapping[str, int]) -> bool:
    """Whether five items or more answer."""
    return sum(value > 0 for value in judged.values()) >= 5
