"""The neighbourhood of a concept, as nodes and edges: breadth first, strongest edges first, of bounded size."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from library.graph import browse, session
from library.graph.concept_scope import seen_as
from library.graph.records import TOGETHER
from library.services.types import Scope

MAX_NODES: Final = 200
# Of one concept, the strongest so many neighbours are followed: a hub shows its best, not everything.
FANOUT: Final = 12
ITEMS: Final = 12

NEIGHBOURS_QUERY: Final = f"""
UNWIND $frontier AS source
MATCH (s:Concept {{uid: source}})
CALL (s) {{
  MATCH (s)-[r:RELATED_TO]-(c:Concept)
  WITH r, c LIMIT $cap WHERE c <> s AND {browse.EDGE_VISIBLE} AND {browse.CONCEPT_VISIBLE}
  WITH c, max(coalesce(r.weight, 1.0)) AS weight
  RETURN c, weight ORDER BY weight DESC, c.uid LIMIT $fanout
}}
RETURN source, c.uid AS uid, c.name AS name, c.concept_type AS concept_type, c.aliases AS aliases,
       c.namings AS namings, weight
ORDER BY weight DESC, uid, source
"""
EDGES_AMONG_QUERY: Final = f"""
UNWIND $uids_shown AS source
MATCH (a:Concept {{uid: source}})
CALL (a) {{
  MATCH (a)-[r:RELATED_TO]-(b:Concept)
  WITH r, b LIMIT $cap WHERE b.uid IN $uids_shown AND a.uid < b.uid AND {browse.EDGE_VISIBLE}
  WITH r, b, coalesce(r.relation_type, $together) AS relation
  RETURN b.uid AS target, relation, relation <> $together AND startNode(r) = b AS turned,
         max(coalesce(r.weight, 1.0)) AS weight
}}
RETURN source, target, relation, turned, weight
ORDER BY source, target, relation, turned
"""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A concept or an item. `depth` is the number of steps from the concept asked for."""

    uid: str
    name: str
    kind: Literal["concept", "item"]
    type: str
    depth: int


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """RELATED_TO between concepts, once a pair and relation; REFERENCES from an item to the concept asked for.

    `relation` is how the source stands to the target; `together`, which goes both ways, where they are only mentioned
    side by side, '' for REFERENCES.
    """

    source: str
    target: str
    type: Literal["RELATED_TO", "REFERENCES"]
    weight: float
    relation: str = ""


@dataclass(frozen=True, slots=True)
class ConceptGraph:
    """The neighbourhood; `truncated` when nodes within the depth were left out for want of room."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    truncated: bool


def concept_graph(scope: Scope, uid: str, depth: int, limit: int) -> ConceptGraph | None:
    """The graph around a concept up to `depth` steps and `limit` concepts; None where the scope has no such concept.

    One read a step, whatever the graph; every edge joins two of the nodes.
    """
    root = browse.concept(scope, uid)
    visible = browse.visible_parameters(scope)
    if root is None or visible is None:
        return None
    nodes = {uid: GraphNode(uid, root.name, "concept", root.concept_type, 0)}
    truncated = False
    frontier = [uid]
    for step in range(1, depth + 1):
        found = _neighbours(visible, frontier, step)
        fresh = [node for node in found if node.uid not in nodes]
        room = limit - len(nodes)
        truncated = truncated or len(fresh) > room
        frontier = [node.uid for node in fresh[:room]]
        nodes.update((node.uid, node) for node in fresh[:room])
        if not frontier:
            break
    items, references = _items(visible, uid)
    edges = _edges_among(visible, sorted(nodes))
    return ConceptGraph((*nodes.values(), *items), (*edges, *references), truncated)


def _neighbours(visible: dict[str, Any], frontier: list[str], depth: int) -> list[GraphNode]:
    """The neighbours of a frontier, the strongest edge first, each once."""
    parameters = {**visible, "frontier": frontier, "fanout": FANOUT, "cap": browse.EDGE_CAP}
    found: dict[str, GraphNode] = {}
    for row in session.read(NEIGHBOURS_QUERY, parameters, browse.READ_TIMEOUT):
        name, kind, _ = seen_as(row, visible["uids"])
        node = GraphNode(row["uid"], name, "concept", kind, depth)
        found.setdefault(node.uid, node)
    return list(found.values())


def _items(visible: dict[str, Any], uid: str) -> tuple[list[GraphNode], list[GraphEdge]]:
    parameters = {**visible, "uid": uid, "limit": ITEMS, "cap": browse.EDGE_CAP}
    rows = session.read(browse.CONCEPT_ITEMS_QUERY, parameters, browse.READ_TIMEOUT)
    nodes = [GraphNode(row["uid"], row["title"], "item", row["library_type"] or "", 1) for row in rows]
    return nodes, [GraphEdge(row["uid"], uid, "REFERENCES", row["weight"]) for row in rows]


def _edges_among(visible: dict[str, Any], uids: list[str]) -> list[GraphEdge]:
    parameters = {**visible, "uids_shown": uids, "cap": browse.EDGE_CAP, "together": TOGETHER}
    rows = session.read(EDGES_AMONG_QUERY, parameters, browse.READ_TIMEOUT)
    return [
        GraphEdge(
            row["target"] if row["turned"] else row["source"],
            row["source"] if row["turned"] else row["target"],
            "RELATED_TO",
            row["weight"],
            row["relation"],
        )
        for row in rows
    ]
