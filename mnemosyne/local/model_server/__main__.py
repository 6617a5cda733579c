"""Run the server: ``python -m mnemosyne.local`` starts it with the right files."""

import argparse
import os
from pathlib import Path

import uvicorn

from mnemosyne.local.model_server.api import ModelApi
from mnemosyne.local.model_server.app import create_app
from mnemosyne.local.model_server.encoder import Encoder
from mnemosyne.local.model_server.rerank import LateInteraction
from mnemosyne.local.model_server.workers import Workers

WAITING_TEXTS = 4096
GRACEFUL_SECONDS = 5  # for requests under way when told to end
CACHE_BYTES = 384 * 1024 * 1024  # about 1,500 passages of 300 tokens


def main() -> None:
    """Load the model, then serve until told to end."""
    parser = argparse.ArgumentParser(prog="python -m mnemosyne.local.model_server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8400)
    parser.add_argument("--onnx", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--state", type=Path, help="marks the process as that of a state folder")
    parser.add_argument("--cache-bytes", type=int, default=CACHE_BYTES, help="memory for encoded passages")
    given = parser.parse_args()
    encoder = Encoder(given.onnx, given.tokenizer)
    workers = Workers(threads=os.cpu_count() or 1, capacity=WAITING_TEXTS)
    app = create_app(ModelApi(encoder, workers, LateInteraction(encoder, workers, given.cache_bytes)))
    uvicorn.run(
        app,
        host=given.host,
        port=given.port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GRACEFUL_SECONDS,
    )


if __name__ == "__main__":
    main()
