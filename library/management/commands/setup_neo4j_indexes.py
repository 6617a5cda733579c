"""Make the graph's constraints and indexes, or say why they do not fit."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from library.conf import index_config
from library.exceptions import MnemosyneError, NotConfigured
from library.graph import schema
from library.graph.schema import SchemaStep
from library.models import AIModel
from library.services.warmup import warm_up


class Command(BaseCommand):
    """Safe to run again: what is there and fits is left alone. Exit code 1 when an index does not fit."""

    help = "Make Neo4j's constraints and indexes for the system embedding model and wait until they are online."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How to deal with indexes that differ, and the shape of the answer."""
        parser.add_argument("--rebuild", action="store_true", help="drop indexes that differ and make them anew")
        parser.add_argument("--json", action="store_true", help="print what was done as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Set up, wait, let Neo4j plan the searches to come, report."""
        try:
            model = AIModel.system(AIModel.Role.EMBEDDING)
            if not model.dimensions:
                raise NotConfigured(f"The record of the embedding model {model.name} names no dimensions")
            steps = list(schema.setup(model.dimensions, index_config(), rebuild=options["rebuild"]))
            with tqdm(total=100, unit="%", desc="Indexes", disable=None, file=sys.stderr) as bar:
                for percentage in schema.wait_online():
                    bar.update(round(percentage) - bar.n)
            warm_up(model.dimensions)
        except MnemosyneError as error:
            raise CommandError(str(error), returncode=1) from error
        self._print(steps, model.dimensions, as_json=options["json"])

    def _print(self, steps: list[SchemaStep], dimensions: int, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"dimensions": dimensions, "steps": [asdict(step) for step in steps]}))
            return
        for step in steps:
            if step.outcome != "present":
                self.stdout.write(f"{step.outcome} {step.kind} {step.name}")
        present = sum(step.outcome == "present" for step in steps)
        self.stdout.write(
            f"{len(steps)} constraints and indexes are online for vectors of {dimensions} dimensions; "
            f"{present} were there before."
        )
