"""``python -m mnemosyne.local``: the local services from the command line."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mnemosyne.local import stack
from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.lockfile import write_lock
from mnemosyne.local.probe import check_neo4j
from mnemosyne.local.progress import Progress
from mnemosyne.local.state import Services


@dataclass(frozen=True, slots=True)
class Options:
    """What the command works with: from the settings, then from the command line.

    ``neo4j_url`` and ``model_server_url`` are those that the operator named: nothing is started in their place.
    """

    state_dir: Path
    cache_dir: Path
    neo4j_url: str | None = None
    neo4j_user: str = "neo4j"
    neo4j_password: str = ""
    model_server_url: str | None = None
    only: str | None = None
    heap: str = "1g"
    json: bool = False
    quiet: bool = False


def main(arguments: Sequence[str] | None, defaults: Options) -> int:
    """Run one command; returns the exit code."""
    options, command = _parsed(arguments, defaults)
    try:
        return COMMANDS[command](options, Progress(quiet=options.quiet))
    except LocalStackError as error:
        print(f"Error: {error.message}", file=sys.stderr)
        if error.remedy:
            print(f"What to do: {error.remedy}", file=sys.stderr)
    except KeyboardInterrupt:
        print("Interrupted: what had been started by this command is stopped again.", file=sys.stderr)
    return 1


def up(options: Options, progress: Progress) -> int:
    """Start Neo4j and the model server, except where others are named in the settings."""
    if options.neo4j_url is not None:
        progress.say(f"Using the Neo4j named by NEO4J_URL: {options.neo4j_url}")
        check_neo4j(options.neo4j_url, options.neo4j_user, options.neo4j_password)
    if options.model_server_url is not None:
        progress.say(f"Using the model server named in the settings: {options.model_server_url}")
    services = stack.start(
        options.state_dir,
        options.cache_dir,
        neo4j=options.neo4j_url is None and options.only != "models",
        models=options.model_server_url is None and options.only != "neo4j",
        heap=options.heap,
        progress=progress,
    )
    _show(options, {"services": services.as_dict()}, _lines(services))
    return 0


def down(options: Options, progress: Progress) -> int:
    """Stop both; the data stay."""
    stopped = stack.stop(options.state_dir, progress)
    _show(options, {"stopped": stopped}, [f"Stopped {name}." for name in stopped] or ["Nothing was running."])
    return 0


def status(options: Options, progress: Progress) -> int:
    """Say what runs; exit code 1 when something that was started does not."""
    found = stack.status(options.state_dir)
    services = found.services or Services()
    running = {"neo4j": found.neo4j_running, "models": found.models_running}
    lines = [f"{name}: {'running' if is_running else 'not running'}" for name, is_running in running.items()]
    content = {"running": running, "services": services.as_dict(), "state_dir": str(options.state_dir)}
    _show(options, content, [*lines, *_lines(services)])
    ended = (services.neo4j is not None and not found.neo4j_running) or (
        services.models is not None and not found.models_running
    )
    return 1 if ended else 0


def reset(options: Options, progress: Progress) -> int:
    """Stop both and delete the local Neo4j's data."""
    removed = stack.reset(options.state_dir, progress)
    _show(options, {"removed": removed}, [f"Deleted {path}." for path in removed] or ["Nothing to delete."])
    return 0


def lock(options: Options, progress: Progress) -> int:
    """Resolve the packages anew and write their checksums into the committed lock."""
    count = write_lock(progress)
    _show(options, {"artifacts": count}, [f"Locked {count} packages: look at the difference, then commit it."])
    return 0


COMMANDS: dict[str, Callable[[Options, Progress], int]] = {
    "up": up,
    "down": down,
    "status": status,
    "reset": reset,
    "lock": lock,
}


def _parsed(arguments: Sequence[str] | None, defaults: Options) -> tuple[Options, str]:
    parser = argparse.ArgumentParser(prog="python -m mnemosyne.local", description=__doc__)
    parser.add_argument("command", choices=COMMANDS, metavar="|".join(COMMANDS))
    parser.add_argument("--state", type=Path, default=defaults.state_dir, help="folder for data, password and logs")
    parser.add_argument("--cache", type=Path, default=defaults.cache_dir, help="folder for downloads")
    parser.add_argument("--only", choices=["neo4j", "models"], help="start this one only")
    parser.add_argument("--heap", default=defaults.heap, help="Neo4j's Java heap, such as 512m or 2g")
    parser.add_argument("--json", action="store_true", help="print the result as JSON (passwords included)")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    given = parser.parse_args(arguments)
    options = Options(
        state_dir=given.state.resolve(),
        cache_dir=given.cache.resolve(),
        neo4j_url=defaults.neo4j_url,
        neo4j_user=defaults.neo4j_user,
        neo4j_password=defaults.neo4j_password,
        model_server_url=defaults.model_server_url,
        only=given.only,
        heap=given.heap,
        json=given.json,
        quiet=given.quiet,
    )
    return options, given.command


def _show(options: Options, content: Mapping[str, object], lines: list[str]) -> None:
    print(json.dumps(content, indent=2) if options.json else "\n".join(lines))


def _lines(services: Services) -> list[str]:
    """The services in words, without the password."""
    lines = []
    if services.neo4j is not None:
        lines.append(f"Neo4j         {services.neo4j.url}  user {services.neo4j.user}  process {services.neo4j.pid}")
    if services.models is not None:
        models = services.models
        lines.append(
            f"Model server  {models.url}  {models.embedding_model} ({models.dimensions} dimensions), "
            f"{models.reranker_model}  process {models.pid}"
        )
    return lines
