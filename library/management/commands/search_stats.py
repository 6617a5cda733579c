"""What the libraries hold, whether the indexes are sound, what the models were asked."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from library.management.callers import add_user_argument, allowed_for
from library.management.exit_codes import exit_codes
from library.services.present import as_plain
from library.services.statistics import Statistics, statistics
from library.services.types import Scope


class Command(BaseCommand):
    """Exit code 0: reported; 1: Neo4j cannot answer."""

    help = "Counts of each library, stale vectors, states of the indexes, use of the models."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How to print."""
        add_user_argument(parser)
        parser.add_argument("--json", action="store_true", help="print as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read and print."""
        with exit_codes():
            allowed = allowed_for(options)
            found = statistics(Scope(allowed))
        if options["json"]:
            self.stdout.write(json.dumps(as_plain(found), indent=2, ensure_ascii=False, allow_nan=False))
        else:
            self._print(found)

    def _print(self, found: Statistics) -> None:
        for library in found.libraries:
            items = ", ".join(f"{count} {status}" for status, count in sorted(library.items.items())) or "none"
            self.stdout.write(self.style.MIGRATE_HEADING(f"{library.name} ({library.library_type})"))
            self.stdout.write(f"  items: {items}")
            self.stdout.write(f"  chunks: {library.chunks}, images: {library.images}, concepts: {library.concepts}")
            if library.chunks_without_vector:
                self._warn(f"  {library.chunks_without_vector} chunks have no vector: ingest their files again")
            if library.stale_vectors:
                self._warn(
                    f"  {library.stale_vectors} stale vectors: made by another model than "
                    f"{found.embedding_model}; ingest their files again"
                )
        if not found.libraries:
            self.stdout.write("No libraries yet: see 'manage.py ingest'.")
        self.stdout.write(self.style.MIGRATE_HEADING("Indexes"))
        for index in found.indexes:
            line = f"  {index.name}: {index.state}, {index.populated_percent:.0f} %"
            if index.state == "online":
                self.stdout.write(line)
            else:
                self._warn(f"{line}; run 'manage.py setup_neo4j_indexes'")
        self.stdout.write(self.style.MIGRATE_HEADING("Models"))
        self.stdout.write(f"  system embedding model: {found.embedding_model or 'none'}")
        for use in found.usage:
            self.stdout.write(
                f"  {use.model_name}, {use.purpose}: {use.calls} calls ({use.failed} failed), "
                f"{use.inputs} inputs, {use.tokens} tokens, {use.mean_ms:.1f} ms each"
            )

    def _warn(self, line: str) -> None:
        self.stdout.write(self.style.WARNING(line))
