"""Pictures by the similarity of their vectors, and by the concepts that they depict."""

from dataclasses import replace
from typing import Final, Literal

from library.graph import session
from library.graph.schema import CONCEPT_FULLTEXT_INDEX, IMAGE_VECTOR_INDEX
from library.graph.scope import naming_filter, naming_parameters, node_filter, vector_filter
from library.services.normalise import divide_by_highest
from library.services.retrievers.base import RetrievalQuery
from library.services.retrievers.lucene import LISTED_SCOPE, scoped_queries, text_clause
from library.services.retrievers.operators import IMAGE_TEXTS, operator_filter
from library.services.types import ImageSearchResult, Scope

CONCEPT_BOOSTS: Final = {"name": 1.0, "aliases": 1.0}
MAX_SEEDS: Final = 8
MAX_IMAGES_PER_CONCEPT: Final = 20
# How many nearest pictures the operators of a query are applied to.
OPERATOR_REACH: Final = 1_000
# A picture of a concept that the query names is weaker evidence than a picture whose vector is near: it decides between
# pictures that are about as near, and adds those that have no vector. By reciprocal rank, the concept counting half,
# .68 of the captions of photographs found their photograph first, by vector alone .80.
GRAPH_WEIGHT: Final = 0.01

_SHOWN: Final = """
RETURN image.uid AS uid, image.image_type AS image_type, image.description AS description, image.s3_key AS s3_key,
       image.ocr_text AS ocr_text, image.page AS page, item.uid AS item_uid, item.title AS item_title, score
ORDER BY score DESC, uid LIMIT $k
"""
IMAGE_VECTOR_QUERY: Final = (
    """
CYPHER 25 MATCH (n:ImageEmbedding)
SEARCH n IN (VECTOR INDEX {index} FOR $vector {scope} LIMIT $reach) SCORE AS score
MATCH (n)<-[:HAS_EMBEDDING]-(image:Image)<-[:HAS_IMAGE]-(item:Item) WHERE score > 0 {operators}
"""
    + _SHOWN
)
# Every picture of the scope is compared: there are far fewer of them than passages, and a look is short.
IMAGE_LOOK_QUERY: Final = (
    """
CYPHER 25 MATCH (item:Item)-[:HAS_IMAGE]->(image:Image) WHERE image.look IS NOT NULL {filters}
WITH image, item, vector.similarity.cosine(image.look, $look) AS score WHERE score >= $floor
"""
    + _SHOWN
)
IMAGE_GRAPH_QUERY: Final = (
    """
CYPHER 25
UNWIND $queries AS query
CALL db.index.fulltext.queryNodes('{index}', query, {{limit: $seeds_reach}}) YIELD node, score
WITH node, score WHERE score > 0 {named}
WITH node, max(score) AS score ORDER BY score DESC, node.uid LIMIT $seeds
CALL (node) {{
    MATCH (node)<-[d:DEPICTS]-(image:Image)<-[:HAS_IMAGE]-(item:Item) WHERE d.weight > 0 {filters}
    RETURN image, item, d.weight AS weight ORDER BY weight DESC, image.uid LIMIT $per_concept
}}
WITH image, item, sum(score * weight) AS score
"""
    + _SHOWN
)


# Looks nearer than this, on the scale (1 + cosine) / 2, are of the same picture or of one that is much like it.
LOOK_FLOOR: Final = 0.9


class ImageRetriever:
    """Pictures by vector, by their look and by DEPICTS, merged by similarity."""

    def retrieve(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[ImageSearchResult]:
        """The `image_top_k` best pictures of the scope."""
        if scope.is_empty:
            return []
        by_vector = self._by_look(query, scope, timeout) or self._by_vector(query, scope, timeout)
        by_graph = self._by_graph(query, scope, timeout)
        return merge_images(by_vector, by_graph)[: query.image_top_k]

    def _by_vector(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[ImageSearchResult]:
        vector = query.image_vector or query.vector
        if vector is None:
            return []
        scope_filter, parameters = vector_filter(scope)
        operators, operator_parameters = operator_filter(query.parsed, IMAGE_TEXTS)
        rows = session.read(
            IMAGE_VECTOR_QUERY.format(index=IMAGE_VECTOR_INDEX, scope=scope_filter, operators=operators),
            {
                "vector": session.native_vector(vector),
                "k": query.image_top_k,
                "reach": OPERATOR_REACH if operators else query.image_top_k,
                **parameters,
                **operator_parameters,
            },
            timeout,
        )
        return [_image(row, "vector") for row in rows]

    def _by_look(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[ImageSearchResult]:
        """Pictures that look like the one searched by, where the model takes none."""
        if query.look is None:
            return []
        scope_filter, parameters = node_filter(scope, "item")
        operators, operator_parameters = operator_filter(query.parsed, IMAGE_TEXTS)
        rows = session.read(
            IMAGE_LOOK_QUERY.format(filters=f"{scope_filter} {operators}"),
            {"look": query.look, "floor": LOOK_FLOOR, "k": query.image_top_k, **parameters, **operator_parameters},
            timeout,
        )
        return [_image(row, "vector") for row in rows]

    def _by_graph(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[ImageSearchResult]:
        if not query.text.is_searchable:
            return []
        scope_filter, parameters = node_filter(scope, "item")
        operators, operator_parameters = operator_filter(query.parsed, IMAGE_TEXTS)
        rows = session.read(
            IMAGE_GRAPH_QUERY.format(
                index=CONCEPT_FULLTEXT_INDEX,
                filters=f"{scope_filter} {operators}",
                named=naming_filter(scope, "node"),
            ),
            {
                "queries": scoped_queries(text_clause(query.text.words, CONCEPT_BOOSTS), scope, LISTED_SCOPE),
                "seeds": MAX_SEEDS,
                **naming_parameters(scope, query.text.words, MAX_SEEDS, "seeds_reach"),
                "per_concept": MAX_IMAGES_PER_CONCEPT,
                "k": query.image_top_k,
                **parameters,
                **operator_parameters,
            },
            timeout,
        )
        return [_image(row, "graph") for row in rows]


def merge_images(by_vector: list[ImageSearchResult], by_graph: list[ImageSearchResult]) -> list[ImageSearchResult]:
    """One list: a picture's similarity, and a little for a concept that the query names and it depicts.

    A picture found both ways is named after the vector. Scores do not depend on how many pictures were asked for.
    """
    names = divide_by_highest([image.score for image in by_graph])
    scores: dict[str, float] = {image.image_uid: image.score for image in by_vector}
    found: dict[str, ImageSearchResult] = {image.image_uid: image for image in by_vector}
    for image, named in zip(by_graph, names, strict=True):
        scores[image.image_uid] = scores.get(image.image_uid, 0.0) + GRAPH_WEIGHT * named
        found.setdefault(image.image_uid, image)
    ordered = sorted(found.values(), key=lambda image: (-scores[image.image_uid], image.image_uid))
    return [replace(image, score=scores[image.image_uid]) for image in ordered]


def _image(row: session.Row, source: Literal["vector", "graph"]) -> ImageSearchResult:
    return ImageSearchResult(
        image_uid=row["uid"],
        item_uid=row["item_uid"],
        item_title=row["item_title"],
        image_type=row["image_type"] or "",
        description=row["description"] or "",
        s3_key=row["s3_key"] or "",
        score=row["score"],
        source=source,
        ocr_text=row["ocr_text"] or "",
        page=row["page"],
    )
