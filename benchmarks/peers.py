"""The libraries that people use for hybrid search on Neo4j, over the same chunks and the same vector index.

Their full-text index is one of their own, over the text alone, as they make it: ours covers more fields and would slow
them down.
"""

import logging
import warnings
from collections.abc import Sequence
from typing import Any, Final

import neo4j

from benchmarks.data import Vectors
from library.graph.schema import CHUNK_VECTOR_INDEX
from mnemosyne.local.state import Neo4jService

FULLTEXT_INDEX: Final = "peer_text_fulltext"
FULLTEXT_DDL: Final = (
    f"CREATE FULLTEXT INDEX {FULLTEXT_INDEX} IF NOT EXISTS FOR (c:Chunk) ON EACH [c.text] "
    "OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}}"
)
TOP_K: Final = 50


def connect(service: Neo4jService) -> neo4j.Driver:
    """A driver with its defaults, as an application would make it."""
    return neo4j.GraphDatabase.driver(
        service.url,
        auth=(service.user, service.password),
        notifications_min_severity=neo4j.NotificationMinimumSeverity.OFF,
    )


def prepare(driver: neo4j.Driver) -> None:
    """Make the peers' full-text index and wait for it."""
    driver.execute_query(FULLTEXT_DDL)
    driver.execute_query("CALL db.awaitIndexes(1800)")
    # Their own advice to upgrade some call or other would be printed once a query.
    warnings.filterwarnings("ignore", module="neo4j_graphrag|langchain_neo4j")
    for name in ("neo4j_graphrag", "langchain_neo4j", "neo4j.notifications"):
        logging.getLogger(name).setLevel(logging.ERROR)


class GraphRag:
    """neo4j-graphrag's HybridRetriever with its defaults; returns uids only, which is the least it can carry."""

    def __init__(self, driver: neo4j.Driver) -> None:
        from neo4j_graphrag.retrievers import HybridRetriever

        self._retriever = HybridRetriever(driver, CHUNK_VECTOR_INDEX, FULLTEXT_INDEX, return_properties=["uid"])

    def search(self, text: str, vector: Sequence[float]) -> list[str]:
        """Uids of the 50 best chunks."""
        found = self._retriever.get_search_results(query_text=text, query_vector=list(vector), top_k=TOP_K)
        return [row["node"]["uid"] for row in found.records]


class LangChain:
    """langchain-neo4j's hybrid Neo4jVector; returns uids only."""

    def __init__(self, service: Neo4jService, vectors: Vectors) -> None:
        from langchain_core.embeddings import Embeddings
        from langchain_neo4j import Neo4jVector

        class Given(Embeddings):  # type: ignore[misc]  # mypy runs without the peers
            """Asked at construction only: searches bring their vector."""

            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [self.embed_query(text) for text in texts]

            def embed_query(self, text: str) -> list[float]:
                found: list[float] = vectors[0].tolist()
                return found

        self._store: Any = Neo4jVector.from_existing_index(
            Given(),
            url=service.url,
            username=service.user,
            password=service.password,
            index_name=CHUNK_VECTOR_INDEX,
            keyword_index_name=FULLTEXT_INDEX,
            search_type="hybrid",
            node_label="Chunk",
            text_node_property="text",
            embedding_node_property="embedding",
            retrieval_query="RETURN node.uid AS text, score, {} AS metadata",
        )

    def search(self, text: str, vector: Sequence[float]) -> list[str]:
        """Uids of the 50 best chunks."""
        found = self._store.similarity_search_with_score_by_vector(list(vector), k=TOP_K, query=text)
        return [document.page_content for document, _ in found]
