"""The results as a picture."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.report import SIDES

COLOURS: Final = {"small": "#7aa6c2", "large": "#1f4e6b"}


def draw(results: Mapping[str, Any], path: Path) -> bool:
    """Write an SVG: p50 of every side by corpus, and searches a second. False where neither was measured."""
    sizes = [size for size in ("small", "large") if "latency" in results.get(size, {})]
    loads = [size for size in ("small", "large") if "throughput" in results.get(size, {})]
    if not sizes or not loads:
        return False
    import matplotlib

    matplotlib.use("svg")
    # Neither a date nor random ids: the file changes only with the figures.
    matplotlib.rcParams.update({"svg.hashsalt": "mnemosyne", "font.size": 9})
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), width_ratios=[2.2, 1], layout="constrained")
    p50 = {size: [results[size]["latency"]["p50_ms"][side] for side in SIDES] for size in sizes}
    _bars(left, list(SIDES), p50, {size: results[size]["chunks"] for size in sizes})
    left.set_ylabel("p50, ms (lower is better)")
    left.set_title("One caller: hybrid search and its legs alone")
    left.tick_params(axis="x", rotation=25)
    sides = ["gunicorn", "neo4j-graphrag"]
    rates = {size: [results[size]["throughput"][side]["per_second"] for side in sides] for size in loads}
    _bars(right, ["REST API", "neo4j-graphrag"], rates, {size: results[size]["chunks"] for size in loads})
    right.set_ylabel("searches a second (higher is better)")
    right.set_title("Sixteen callers")
    figure.savefig(path, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return True


def _bars(axes: Any, labels: list[str], values: Mapping[str, list[float]], chunks: Mapping[str, int]) -> None:
    width = 0.8 / len(values)
    for number, (size, heights) in enumerate(values.items()):
        places = [place + number * width for place in range(len(labels))]
        drawn = axes.bar(places, heights, width, label=f"{chunks[size]:,} chunks", color=COLOURS[size])
        axes.bar_label(drawn, fmt="%.1f", fontsize=7, padding=1)
    axes.set_xticks([place + width * (len(values) - 1) / 2 for place in range(len(labels))], labels)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
