"""A small model server that speaks the protocol of Synesis, for machines without a GPU.

``/v1/embeddings`` (OpenAI's shape), ``/v1/rerank`` (Synesis's), ``/v1/models`` and ``/health``, all by one quantised
bge-small-en-v1.5. It reads text only: images are refused with the reason, and no vector is ever invented.
"""
