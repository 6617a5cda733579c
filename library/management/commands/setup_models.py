"""Record the system's embedding model and reranker, as the settings name them."""

from typing import Any

from django.core.management.base import BaseCommand

from library import conf
from library.management.exit_codes import exit_codes
from library.services.model_records import record_system_models


class Command(BaseCommand):
    """May be run again at any time. Exit code 1: nothing is configured; 2: a setting makes no sense."""

    help = "Create or update the records of the system's models from the settings."

    def handle(self, *args: Any, **options: Any) -> None:
        """Record, and say what was done."""
        configured = conf.system_models()
        with exit_codes():
            for step in record_system_models(configured):
                self.stdout.write(f"{step.record}: {step.outcome}")
                if step.dimensions_before is not None:
                    self.stdout.write(
                        self.style.WARNING(
                            f"  Vectors had {step.dimensions_before} numbers and have another length now: run "
                            "'manage.py setup_neo4j_indexes --rebuild' and ingest again."
                        )
                    )
        if "reranker" not in configured:
            self.stdout.write("No reranker is configured: searches keep the fused order.")
