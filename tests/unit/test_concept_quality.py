"""The built-in finder on passages labelled by hand; `pytest -s` prints the figures of docs/relevance.md."""

import pytest

from tests.concept_labels import labelled, precision, recall


@pytest.mark.parametrize(
    ("unseen", "least", "least_found"), [(False, 0.75, 0.8), (True, 0.65, 0.7)], ids=["at hand", "unseen"]
)
def test_most_concepts_are_right_and_nearly_all_names_are(unseen: bool, least: float, least_found: float) -> None:
    passages = [one for one in labelled() if one.unseen is unseen]
    assert len(passages) == 20
    for one in passages:
        print(f"{one.place}: wrong {sorted(one.wrong)}; missing {sorted(one.main - set(one.found))}")
    by_kind = {kind: precision(passages, kind) for kind in ("title", "name", "phrase")}
    kinds = ", ".join(f"{kind} {value:.2f}" for kind, value in by_kind.items())
    count = sum(len(one.found) for one in passages)
    print(
        f"{count} concepts: precision {precision(passages):.2f} ({kinds}); "
        f"recall of the main ones {recall(passages):.2f}"
    )
    assert precision(passages) >= least
    assert by_kind["name"] >= 0.9
    assert recall(passages) >= least_found
