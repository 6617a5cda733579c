"""The built-in finder on passages labelled by hand; `pytest -s` prints the figures of docs/relevance.md."""

from tests.concept_labels import labelled, precision, recall


def test_most_concepts_are_right_and_nearly_all_names_are() -> None:
    passages = labelled()
    for one in passages:
        print(f"{one.place}: wrong {sorted(one.wrong)}; missing {sorted(one.main - set(one.found))}")
    by_kind = {kind: precision(passages, kind) for kind in ("title", "name", "phrase")}
    kinds = ", ".join(f"{kind} {value:.2f}" for kind, value in by_kind.items())
    count = sum(len(one.found) for one in passages)
    print(
        f"{count} concepts: precision {precision(passages):.2f} ({kinds}); "
        f"recall of the main ones {recall(passages):.2f}"
    )
    assert precision(passages) >= 0.75
    assert by_kind["name"] >= 0.9
    assert recall(passages) >= 0.8
