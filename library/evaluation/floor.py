"""What a relevance floor does: how many real and how many nonsense questions it says have no good match."""

import random
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from library.evaluation.trec import Dataset
from library.services.query_language import parse
from library.services.requests import build_request
from library.services.results import Strength, strength_of
from library.services.search import SearchService

SEED: Final = 7
# Questions of each kind that are asked of a library.
QUESTIONS: Final = 100
# Questions that few libraries answer; they join those of the other collections.
OFF_TOPIC: Final = (
    "best lasagne recipe with aubergine",
    "how do I renew my passport",
    "cheap flights to Lisbon in May",
    "what colour should I paint the bathroom",
    "my dog will not stop barking at night",
    "how to knit a scarf",
    "train from Zurich to Milan",
    "lorem ipsum dolor sit amet",
    "why is my wifi so slow",
    "birthday gift for grandmother",
    "how long to boil an egg",
    "tax return deadline for freelancers",
)


@dataclass(frozen=True, slots=True)
class FloorMeasured:
    """The part of the questions of a kind, asked of a collection's library, that a floor calls unanswered."""

    dataset: str
    kind: str
    questions: int
    floor: float
    unanswered: float


def gibberish(count: int, seed: int = SEED) -> list[str]:
    """Questions of letters at random, the same for the same seed."""
    rng = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    return [
        " ".join("".join(rng.choices(string.ascii_lowercase, k=rng.randint(3, 9))) for _ in range(rng.randint(2, 7)))
        for _ in range(count)
    ]


def questions_for(dataset: Dataset, others: Sequence[Dataset]) -> Mapping[str, list[str]]:
    """Questions to ask of a collection's library, by kind: its own, those of others, and letters at random."""
    rng = random.Random(SEED)  # noqa: S311  (reproducible, not secret)
    own = [query.text for query in dataset.queries]
    elsewhere = [query.text for other in others for query in other.queries]
    return {
        "own": rng.sample(own, min(QUESTIONS, len(own))),
        "off topic": [*OFF_TOPIC, *rng.sample(elsewhere, min(QUESTIONS, len(elsewhere)))],
        "gibberish": gibberish(QUESTIONS),
    }


def measure_floors(
    dataset: Dataset,
    library_uid: str,
    others: Sequence[Dataset],
    floors: Sequence[float],
    service: SearchService,
    progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> list[FloorMeasured]:
    """Ask every question once, and hold what is found against every floor."""
    measured = []
    for kind, questions in questions_for(dataset, others).items():
        strengths = [_strength(text, library_uid, service) for text in progress(questions)]
        measured += [
            FloorMeasured(dataset.name, kind, len(strengths), floor, _below(strengths, floor)) for floor in floors
        ]
    return measured


def _strength(text: str, library_uid: str, service: SearchService) -> Strength:
    request = build_request(
        text, include_images=False, library_uid=library_uid, strategy="hybrid", rerank=False, fresh=True
    )
    return strength_of(service.search(request).candidates, parse(text).plain_text)


def _below(strengths: Sequence[Strength], floor: float) -> float:
    return sum(strength.is_below(floor) for strength in strengths) / len(strengths)
