"""Does a Neo4j have what the search needs: vector search filtered inside the index?

Asked of the feature, never of the version: Aura, clusters and forks number themselves as they like. Both questions are
``EXPLAIN``s of statements on an index that does not exist, so nothing is created, not even a property key. A server
that knows the clause answers that the index is missing; one that does not stumbles over the syntax.
"""

from neo4j import Driver, GraphDatabase
from neo4j.exceptions import AuthError, ClientError, ConfigurationError, DriverError, Neo4jError

from mnemosyne.local.errors import LocalStackError

CREATE_QUERY = """\
EXPLAIN CYPHER 25 CREATE VECTOR INDEX mnemosyne_feature_probe IF NOT EXISTS
FOR (node:MnemosyneFeatureProbe) ON node.embedding WITH [node.scope]
OPTIONS {indexConfig: {`vector.dimensions`: 2, `vector.similarity_function`: 'cosine'}}"""

SEARCH_QUERY = """\
EXPLAIN CYPHER 25 MATCH (node:MnemosyneFeatureProbe)
SEARCH node IN (VECTOR INDEX mnemosyne_feature_probe FOR $vector WHERE node.scope IN $scopes LIMIT 1) SCORE AS score
RETURN score"""

INDEX_NOT_FOUND = "Neo.ClientError.Schema.IndexNotFound"
SECONDS = 10.0


def missing_feature(driver: Driver, database: str | None = None) -> str | None:
    """What the server lacks, in its own words, or None when it can filter inside a vector index.

    Raises the driver's errors when the server cannot be asked.
    """
    for query in (CREATE_QUERY, SEARCH_QUERY):
        try:
            driver.execute_query(query, vector=[1.0, 0.0], scopes=["none"], database_=database)
        except AuthError:
            raise
        except ClientError as error:
            if error.code != INDEX_NOT_FOUND:
                return " ".join((error.message or str(error)).split())
    return None


def check_neo4j(url: str, user: str, password: str, database: str | None = None) -> None:
    """Raise LocalStackError when the named Neo4j cannot be reached, entered or used."""
    try:
        with GraphDatabase.driver(url, auth=(user, password), connection_timeout=SECONDS) as driver:
            driver.verify_connectivity()
            reason = missing_feature(driver, database)
    except AuthError as error:
        raise LocalStackError(
            f"Neo4j at {url} refuses the user {user!r} with the given password.",
            "Set NEO4J_USER and NEO4J_PASSWORD to an account that may create indexes.",
        ) from error
    except (DriverError, Neo4jError, ConfigurationError, OSError, ValueError) as error:
        raise LocalStackError(
            f"Neo4j at {url} cannot be reached: {error}",
            "Start it, correct NEO4J_URL, or remove NEO4J_URL to let a local Neo4j be started for you.",
        ) from error
    if reason is not None:
        raise LocalStackError(
            f"Neo4j at {url} cannot be used: it has no vector search filtered inside the index "
            f"(Cypher 25: SEARCH ... IN (VECTOR INDEX ... WHERE ...)). It said: {reason[:300]}",
            "Use Neo4j 2026.08 or newer (Community, Enterprise or Aura), or remove NEO4J_URL to let a local one be "
            "started for you.",
        )
