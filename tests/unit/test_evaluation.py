"""Measures, run files, comparisons and baselines of an evaluation."""

import json
import random
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from django.core.management import CommandError, call_command
from ir_measures import RR, P, R, nDCG

from library.evaluation.baseline import not_run, read_baseline, regressions
from library.evaluation.floor import gibberish, questions_for
from library.evaluation.report import as_text
from library.evaluation.runner import Evaluated, question_type
from library.evaluation.significance import compare
from library.evaluation.trec import Dataset, Query, dataset_of_qrels, read_run, write_run
from library.exceptions import InvalidRequest

JUDGED = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"d": 1}}


def dataset(qrels: dict[str, dict[str, int]]) -> Dataset:
    return Dataset("made", Path("corpus.jsonl"), tuple(Query(uid, "") for uid in qrels), qrels)


def random_collection(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Graded, negative and missing judgements; tied scores; queries without an answer."""
    rng = random.Random(seed)
    documents = [f"d{number}" for number in range(150)]
    qrels = {
        f"q{number}": {document: rng.choice((-1, 0, 1, 1, 2, 3)) for document in rng.sample(documents, 20)}
        for number in range(30)
    }
    run = {
        query: {document: rng.choice((0.1, 0.2, 0.3, rng.random())) for document in rng.sample(documents, 120)}
        for query in qrels
        if rng.random() > 0.1
    }
    return qrels, run


@pytest.mark.parametrize("seed", range(5))
def test_our_measures_agree_with_ir_measures(seed: int, tmp_path: Path) -> None:
    qrels, run = random_collection(seed)
    write_run(tmp_path / "run.trec", run, "made")
    # 9 decimals are written: both sides read the same file.
    read = read_run(tmp_path / "run.trec")
    theirs = ir_measures.calc_aggregate([nDCG @ 10, RR @ 10, P @ 5, R @ 5, R @ 100], qrels, read)
    ours = Evaluated(dataset(qrels), "made", read).measured()
    assert ours.ndcg_10 == pytest.approx(theirs[nDCG @ 10], abs=1e-9)
    assert ours.p_5 == pytest.approx(theirs[P @ 5], abs=1e-9)
    assert ours.recall_5 == pytest.approx(theirs[R @ 5], abs=1e-9)
    assert ours.recall_100 == pytest.approx(theirs[R @ 100], abs=1e-9)
    assert ours.mrr_10 == pytest.approx(theirs[RR @ 10], abs=1e-9)
    assert ours.failed == len(qrels) - len(run)


def test_a_run_file_is_ordered_by_score_whatever_its_ranks_say(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q1 Q0 a 1 0.2 x\nq1 Q0 b 2 0.9 x\nq1 Q0 c 3 0.2 x\n", encoding="utf-8")
    assert list(read_run(tmp_path / "run")["q1"]) == ["b", "c", "a"]


@pytest.mark.parametrize("line", ["q1 Q0 a 1 x", "q1 Q0 a 1 much x", "q1 Q0 a 1 nan x", "q1 Q0 a 1 inf x"])
def test_a_run_file_that_makes_no_sense_is_refused_with_its_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text(f"q1 Q0 b 1 0.5 x\n{line}\n", encoding="utf-8")
    with pytest.raises(InvalidRequest, match="line 2"):
        read_run(tmp_path / "run")


def test_equal_lists_differ_by_chance_only_and_shifted_ones_do_not() -> None:
    rng = random.Random(3)
    first = [rng.random() for _ in range(60)]
    same = compare("ndcg_10", ("a", first), ("b", first))
    assert (same.difference, same.t_test_p, same.randomisation_p, same.equal) == (0.0, 1.0, 1.0, 60)
    shifted = compare("ndcg_10", ("a", first), ("b", [value + 0.05 + rng.random() / 100 for value in first]))
    assert shifted.difference == pytest.approx(0.055, abs=0.005)
    assert (shifted.better, shifted.worse) == (60, 0)
    assert max(shifted.t_test_p, shifted.randomisation_p) < 0.001


def test_noise_is_not_called_significant() -> None:
    rng = random.Random(5)
    noise = compare("p_5", ("a", [rng.random() for _ in range(50)]), ("b", [rng.random() for _ in range(50)]))
    assert min(noise.t_test_p, noise.randomisation_p) > 0.05


def row(**values: Any) -> dict[str, Any]:
    measures = {"ndcg_10": 0.5, "mrr_10": 0.5, "p_5": 0.5, "recall_5": 0.5, "recall_100": 0.5}
    return {"dataset": "made", "configuration": "hybrid", "question_type": "all", **measures, **values}


def test_a_measure_that_fell_by_more_than_allowed_is_named() -> None:
    fallen = regressions([row()], [row(ndcg_10=0.48, p_5=0.495, mrr_10=0.9)], 0.01)
    assert [str(one) for one in fallen] == ["made, hybrid: ndcg_10 fell from 0.5000 to 0.4800"]
    assert regressions([row()], [row(ndcg_10=0.49)], 0.01) == []


def test_a_baseline_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="nothing for made / hybrid / all"):
        regressions([row(configuration="vector")], [row()], 0.01)
    (tmp_path / "a.json").write_text("[1]", encoding="utf-8")
    for path in (tmp_path / "a.json", tmp_path / "missing.json"):
        with pytest.raises(InvalidRequest, match="baseline"):
            read_baseline(path)


@pytest.mark.parametrize("value", ["NaN", '"0.5"', "null", "Infinity", "true"])
def test_a_baseline_with_what_is_no_number_is_refused(value: str, tmp_path: Path) -> None:
    written = json.dumps({"measured": [row()]}).replace('"p_5": 0.5', f'"p_5": {value}')
    (tmp_path / "baseline.json").write_text(written, encoding="utf-8")
    with pytest.raises(InvalidRequest, match="made / hybrid / all has no number for p_5"):
        read_baseline(tmp_path / "baseline.json")


def test_what_a_baseline_has_and_the_run_has_not_is_named() -> None:
    assert not_run([row(), row(configuration="vector")], [row()]) == ["made / vector / all"]


def test_a_file_without_judgements_is_refused(tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n", encoding="utf-8")
    with pytest.raises(InvalidRequest, match="no judgement"):
        dataset_of_qrels(tmp_path / "qrels.tsv")


def test_types_are_the_collections_own_or_the_optimizers() -> None:
    assert question_type(Query("1", "anything", "bridge")) == "bridge"
    assert question_type(Query("1", "How do I fix kubernetes port 8080?")) == "procedural"


def test_measures_by_type_are_means_of_their_questions() -> None:
    made = Dataset("made", Path(), (Query("q1", "x", "one"), Query("q2", "y", "two")), JUDGED)
    evaluated = Evaluated(made, "hybrid", {"q1": {"c": 2.0, "a": 1.0}, "q2": {"x": 1.0}})
    one, two = evaluated.by_type()
    assert (one.question_type, one.queries, one.ndcg_10) == ("one", 1, 1.0)
    assert (two.question_type, two.queries, two.ndcg_10) == ("two", 1, 0.0)
    assert evaluated.measured().ndcg_10 == 0.5


def test_tables_json_and_csv_say_the_same() -> None:
    tables = {"measured": [{"name": "a", "value": 0.5}], "compared": []}
    assert as_text(tables, "table") == "name  value\na     0.5000"
    assert as_text(tables, "csv") == "name,value\na,0.5000"
    assert json.loads(as_text(tables, "json")) == tables


def test_nonsense_is_the_same_every_time() -> None:
    assert gibberish(5) == gibberish(5)
    made = Dataset("made", Path(), (Query("q1", "own question"),), {"q1": {"a": 1}})
    other = Dataset("other", Path(), (Query("q1", "elsewhere"),), {"q1": {"a": 1}})
    kinds = questions_for(made, [other])
    assert kinds["own"] == ["own question"]
    assert "elsewhere" in kinds["off topic"]


class TestRunFilesAlone:
    """`search_eval --qrels --run` needs neither Neo4j nor a corpus."""

    @pytest.fixture
    def files(self, tmp_path: Path) -> Path:
        (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 c 1\n", encoding="utf-8")
        (tmp_path / "good.trec").write_text("q1 Q0 a 1 2 g\nq2 Q0 c 1 2 g\n", encoding="utf-8")
        (tmp_path / "bad.trec").write_text("q1 Q0 b 1 2 g\nq1 Q0 a 2 1 g\n", encoding="utf-8")
        return tmp_path

    def test_they_are_measured_and_compared(self, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
        runs = [str(files / "good.trec"), str(files / "bad.trec")]
        call_command(
            "search_eval", qrels=files / "qrels.txt", run=[Path(run) for run in runs], format="json",
            compare=["bad", "good"],
        )  # fmt: skip
        said = json.loads(capsys.readouterr().out)
        assert [(one["configuration"], one["mrr_10"], one["failed"]) for one in said["measured"]] == [
            ("good", 1.0, 0),
            ("bad", 0.25, 1),
        ]
        assert (said["compared"][0]["better"], said["compared"][0]["difference"]) == (
            2,
            pytest.approx(0.684535, abs=1e-5),
        )
        assert dataset_of_qrels(files / "qrels.txt").qrels["q1"] == {"a": 1, "b": 0}

    def test_a_regression_against_a_baseline_is_exit_code_1(
        self, files: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        given: dict[str, Any] = {"qrels": files / "qrels.txt", "run": [files / "good.trec"], "format": "json"}
        call_command("search_eval", **given)
        (files / "baseline.json").write_text(capsys.readouterr().out, encoding="utf-8")
        call_command("search_eval", **given, baseline=files / "baseline.json")
        (files / "good.trec").write_text("q1 Q0 a 1 2 g\n", encoding="utf-8")
        with pytest.raises(CommandError, match=r"good: ndcg_10 fell from 1\.0000 to 0\.5000") as refused:
            call_command("search_eval", **given, baseline=files / "baseline.json")
        assert refused.value.returncode == 1

    def test_without_a_collection_there_must_be_judgements_and_runs(self, files: Path) -> None:
        with pytest.raises(CommandError, match="--qrels and --run") as refused:
            call_command("search_eval")
        assert refused.value.returncode == 2

    def test_a_configuration_needs_a_collection_also_where_it_is_only_compared(self, files: Path) -> None:
        given: dict[str, Any] = {"qrels": files / "qrels.txt", "run": [files / "good.trec"]}
        with pytest.raises(CommandError, match="--qrels and --run") as refused:
            call_command("search_eval", **given, compare=["good", "hybrid"])
        assert refused.value.returncode == 2

    @pytest.mark.parametrize("name", ["good.trec", "hybrid.trec"])
    def test_two_runs_of_one_name_are_refused(self, name: str, files: Path) -> None:
        (files / "other").mkdir()
        (files / "other" / name).write_text("q1 Q0 a 1 2 g\n", encoding="utf-8")
        runs = [files / "good.trec", files / "other" / name]
        with pytest.raises(CommandError, match=f"two are called {Path(name).stem}") as refused:
            call_command("search_eval", qrels=files / "qrels.txt", run=runs)
        assert refused.value.returncode == 2

    @pytest.mark.parametrize("value", [float("nan"), -0.1])
    def test_a_bound_that_nothing_can_fall_below_is_refused(self, value: float, files: Path) -> None:
        given: dict[str, Any] = {"qrels": files / "qrels.txt", "run": [files / "good.trec"]}
        with pytest.raises(CommandError, match="fail_below") as refused:
            call_command("search_eval", **given, fail_below=value)
        assert refused.value.returncode == 2
