"""`rearview eval`: recall measured on your own data, configurations compared, tasks with memory and without."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel

from rearview_pipelines.errors import InvalidInput
from rearview_pipelines.evaluation.compare import Difference, paired, unpaired
from rearview_pipelines.evaluation.rows import QueryRow, ResultRow, TaskRow
from rearview_pipelines.requests import parse
from rearview_serve.cli import ndjson
from rearview_serve.cli.options import Json
from rearview_serve.cli.output import emit, exit_codes
from rearview_serve.settings import read_settings

_Row = TypeVar("_Row", bound=BaseModel)
MEASURES = ("recall", "precision", "ndcg", "mrr")


def evaluate(
    queries: Annotated[Path | None, typer.Option(help="NDJSON: query, relevant [refs], scenario?, filters?")] = None,
    memories: Annotated[Path | None, typer.Option(help="NDJSON: memories as written, each with a ref.")] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(help='NAME={...}: recall fields and settings that differ: words={"mode": "keyword"}.'),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(help="A configuration to compare with the first one; none: tasks with memory and without."),
    ] = None,
    tasks: Annotated[Path | None, typer.Option(help="With --compare none: NDJSON of task, query, needs.")] = None,
    results: Annotated[
        Path | None,
        typer.Option(help="With --compare none: NDJSON of task, memory, completed, turns?, rating?"),
    ] = None,
    k: Annotated[int, typer.Option(help="Depth of the measures.", min=1, max=100)] = 10,
    as_json: Json = False,
) -> None:
    """Measure recall on your own data, in a store of its own that is gone afterwards."""
    with exit_codes(as_json):
        if compare == "none":
            emit(_without_memory(tasks, memories, results), as_json, _task_lines)
            return
        if queries is None or memories is None:
            raise InvalidInput.one("queries", "queries and memories are needed", "name both files")
        emit(_measured(queries, memories, config or [], compare, k), as_json, _lines)


def _measured(queries: Path, memories: Path, config: list[str], compare: str | None, k: int) -> dict[str, Any]:
    from rearview_serve import evaluating

    configurations = [evaluating.read_configuration(text) for text in config] or [
        evaluating.Configuration("default", {}, {})
    ]
    names = [c.name for c in configurations]
    if compare is not None and compare not in names[1:]:
        raise InvalidInput.one("compare", f"{compare!r} is no second configuration", "name it with a second --config")
    asked = _rows(QueryRow, queries)
    written = [value for _, value in ndjson.values(memories, "eval")]
    measured, index_recall = asyncio.run(evaluating.evaluate(read_settings(), written, asked, configurations, k, _say))
    answer: dict[str, Any] = {
        "k": k,
        "index_recall": index_recall,
        "configurations": [m.summary(asked) for m in measured],
    }
    if compare is not None:
        first, second = measured[0], measured[names.index(compare)]
        answer["comparison"] = {
            "of": compare,
            "less": first.configuration,
            **{
                name: _difference(
                    paired([getattr(s, name) for s in first.scores], [getattr(s, name) for s in second.scores])
                )
                for name in MEASURES
            },
        }
    return answer


def _without_memory(tasks: Path | None, memories: Path | None, results: Path | None) -> dict[str, Any]:
    from rearview_serve import evaluating

    if results is not None:
        rows = _rows(ResultRow, results)
    elif tasks is not None and memories is not None:
        written = [value for _, value in ndjson.values(memories, "eval")]
        rows = asyncio.run(evaluating.run_tasks(read_settings(), written, _rows(TaskRow, tasks), _say))
    else:
        raise InvalidInput.one("results", "nothing to compare", "name --results, or --tasks and --memories")
    measures = {
        name: {
            "without": sum(without) / len(without),
            "with": sum(with_) / len(with_),
            **_difference(unpaired(without, with_)),
        }
        for name, without, with_ in evaluating.sides(rows)
    }
    if not measures:
        raise InvalidInput.one("results", "has runs of one side only", "add runs with memory true and false")
    return {"tasks": len({row.task for row in rows}), "runs": len(rows), "measures": measures}


def _difference(found: Difference) -> dict[str, Any]:
    return {"difference": found.mean, "low": found.low, "high": found.high, "settled": found.settled}


def _rows(model: type[_Row], file: Path) -> list[_Row]:
    rows = [parse(model, value, f"line {number}") for number, value in ndjson.values(file, "eval")]
    if not rows:
        raise InvalidInput.one("file", f"{file} holds no row", "write one JSON object a line")
    return rows


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _lines(answer: dict[str, Any]) -> Iterator[str]:
    k = answer["k"]
    yield f"{'':24}{'n':>5}{f'recall@{k}':>11}{f'prec@{k}':>9}{f'nDCG@{k}':>9}{'MRR':>7}{'p50 ms':>9}{'p95 ms':>9}"
    for row in answer["configurations"]:
        yield _line(row["configuration"], row["queries"], row, row["p95_ms"])
        if row["degraded"]:
            yield f"  {row['degraded']} of its recalls went without a part (see `degraded`): the figures are too low"
        for scenario, of in row["scenarios"].items():
            yield _line(f"  {scenario}", None, of, None)
    yield f"the index finds {answer['index_recall']:.3f} of what exact search finds among the first {k}"
    if compared := answer.get("comparison"):
        yield f"{compared['of']} less {compared['less']}, with 95 % intervals by paired bootstrap over the queries:"
        for name in MEASURES:
            yield f"  {name:10} {_interval(compared[name])}"


def _line(name: str, count: int | None, of: dict[str, Any], p95: float | None) -> str:
    n = "" if count is None else str(count)
    last = "" if p95 is None else f"{p95:.1f}"
    return (
        f"{name:24}{n:>5}{of['recall']:>11.3f}{of['precision']:>9.3f}{of['ndcg']:>9.3f}{of['mrr']:>7.3f}"
        f"{of['milliseconds']:>9.1f}{last:>9}"
    )


def _task_lines(answer: dict[str, Any]) -> Iterator[str]:
    yield f"{answer['tasks']} tasks, {answer['runs']} runs; with memory less without, 95 % intervals by bootstrap:"
    for name, of in answer["measures"].items():
        yield f"  {name:10} {of['without']:.2f} without, {of['with']:.2f} with: {_interval(of)}"


def _interval(of: dict[str, Any]) -> str:
    word = "" if of["settled"] else "  (not settled: may be chance)"
    return f"{of['difference']:+.3f}  [{of['low']:+.3f}, {of['high']:+.3f}]{word}"
