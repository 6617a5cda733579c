"""The Cypher that ingest writes with. Every list is sorted by its key before it is sent: locks are taken in order."""

from typing import Final

LIBRARY_QUERY: Final = """
MERGE (l:Library {name: $name})
ON CREATE SET l.uid = $uid, l.library_type = $library_type, l.visibility = $visibility
RETURN l.uid AS uid, l.library_type AS library_type
"""
LIBRARY_UID_QUERY: Final = "MATCH (l:Library {name: $name}) RETURN l.uid AS uid"
VISIBILITY_QUERY: Final = "MATCH (l:Library {uid: $uid}) SET l.visibility = $visibility"

COLLECTION_QUERY: Final = """
MATCH (l:Library {uid: $library_uid})
MERGE (c:Collection {uid: $uid})
ON CREATE SET c.name = $name
MERGE (l)-[:CONTAINS]->(c)
"""

PLACE_QUERY: Final = """
MATCH (l:Library)-[:CONTAINS]->(c:Collection {uid: $collection_uid})
RETURN l.uid AS library_uid, l.library_type AS library_type
"""

KNOWN_ITEMS_QUERY: Final = """
UNWIND $uids AS uid
MATCH (i:Item {uid: uid})
RETURN i.uid AS uid, i.content_hash AS content_hash, i.status AS status, i.collection_uid AS collection_uid
"""

ITEM_SOURCES_QUERY: Final = """
MATCH (i:Item) WHERE i.library_uid = $library_uid
WITH i ORDER BY i.source, i.uid
RETURN collect([i.source, i.uid]) AS rows
"""
LIBRARIES_OF_QUERY: Final = """
MATCH (l:Library)
WHERE EXISTS { (l)-[:CONTAINS]->(:Collection)-[:CONTAINS]->(:Item {uid: $item_uid}) }
   OR EXISTS { (l)-[:CONTAINS]->(:Collection {uid: $collection_uid}) }
RETURN l.uid AS uid ORDER BY uid
"""
DELETE_LIBRARY_QUERY: Final = """
MATCH (l:Library {uid: $uid})
OPTIONAL MATCH (l)-[:CONTAINS]->(c:Collection)
DETACH DELETE c, l
"""

TITLES_QUERY: Final = """
MATCH (k:Concept {concept_type: 'title'})
WHERE $library_uid IN k.library_uids
RETURN k.name AS name
ORDER BY k.uid
LIMIT $limit
"""

STORED_KEYS_QUERY: Final = """
UNWIND $uids AS uid
MATCH (i:Item {uid: uid})
RETURN COLLECT { MATCH (i)-[:HAS_CHUNK]->(c:Chunk) RETURN c.chunk_s3_key }
     + COLLECT { MATCH (i)-[:HAS_IMAGE]->(p:Image) RETURN p.s3_key } AS keys
"""

# Writing a property takes the node's lock, so that two ingests of one item queue up here.
LOCK_ITEMS_QUERY: Final = """
UNWIND $items AS row
MERGE (i:Item {uid: row.uid})
ON CREATE SET i.created_at = datetime()
SET i.source = coalesce(row.source, i.source)
RETURN i.uid AS uid, i.content_hash AS content_hash, i.status AS status, i.library_uid AS library_uid,
       i.library_type AS library_type, i.collection_uid AS collection_uid
"""

# Items without `relations` were written before relations had types: none of today's counts holds their pairs.
OLD_CHUNKS_QUERY: Final = """
UNWIND $uids AS uid
MATCH (i:Item {uid: uid})-[:HAS_CHUNK]->(c:Chunk)
RETURN uid AS item_uid, c.chunk_s3_key AS storage_key, i.relations IS NOT NULL AS counted,
       COLLECT { MATCH (c)-[m:MENTIONS]->(k:Concept) RETURN [k.key, m.rank] } AS mentions
"""

OLD_LINKS_QUERY: Final = """
UNWIND $uids AS uid
MATCH (i:Item {uid: uid})
RETURN uid AS item_uid,
       COLLECT { MATCH (i)-[:REFERENCES]->(k:Concept) RETURN k.key } AS refers,
       COLLECT { MATCH (i)-[:HAS_IMAGE]->(:Image)-[:DEPICTS]->(k:Concept) RETURN k.key } AS depicts,
       COLLECT { MATCH (i)-[:HAS_IMAGE]->(p:Image) RETURN p.s3_key } AS storage_keys,
       coalesce(i.relations, []) AS relations
"""

# `_lock` is the write that takes the lock; it is gone before the transaction ends and touches no index.
LOCK_CONCEPTS_QUERY: Final = """
UNWIND $concepts AS row
MERGE (k:Concept {key: row.key})
ON CREATE SET k.uid = row.uid, k.name = row.name, k.concept_type = row.kind, k.aliases = row.aliases,
  k.library_uids = row.library_uids, k.library_types = row.library_types, k.collection_uids = row.collection_uids,
  k.namings = row.namings
SET k._lock = true
REMOVE k._lock
RETURN k.key AS key, k.concept_type AS kind, coalesce(k.aliases, []) AS aliases, k.name AS name,
       coalesce(k.library_uids, []) AS library_uids, coalesce(k.library_types, []) AS library_types,
       coalesce(k.collection_uids, []) AS collection_uids, coalesce(k.namings, []) AS namings
"""

LOCK_OLD_CONCEPTS_QUERY: Final = """
UNWIND $keys AS key
MATCH (k:Concept {key: key})
SET k._lock = true
REMOVE k._lock
"""

UPDATE_CONCEPTS_QUERY: Final = """
UNWIND $concepts AS row
MATCH (k:Concept {key: row.key})
SET k.name = row.name, k.concept_type = row.kind, k.aliases = row.aliases, k.library_uids = row.library_uids,
    k.library_types = row.library_types, k.collection_uids = row.collection_uids, k.namings = row.namings
"""

DELETE_CONTENT_QUERY: Final = """
UNWIND $uids AS uid
MATCH (i:Item {uid: uid})
OPTIONAL MATCH (i)-[:HAS_CHUNK]->(c:Chunk)
DETACH DELETE c
WITH DISTINCT i
OPTIONAL MATCH (i)-[:HAS_IMAGE]->(p:Image)
OPTIONAL MATCH (p)-[:HAS_EMBEDDING]->(e:ImageEmbedding)
DETACH DELETE e, p
WITH DISTINCT i
OPTIONAL MATCH (i)-[r:REFERENCES]->(:Concept)
DELETE r
"""

DELETE_ITEMS_QUERY: Final = """
UNWIND $uids AS uid
MATCH (i:Item {uid: uid})
DETACH DELETE i
"""

SET_ITEMS_QUERY: Final = """
UNWIND $items AS row
MATCH (i:Item {uid: row.uid})
MATCH (col:Collection {uid: $collection_uid})
SET i.title = row.title, i.item_type = row.item_type, i.content_hash = row.content_hash, i.status = row.status,
    i.error = row.error, i.relations = row.relations, i.library_uid = $library_uid, i.library_type = $library_type,
    i.collection_uid = $collection_uid
WITH i, col, row
OPTIONAL MATCH (other:Collection)-[r:CONTAINS]->(i) WHERE other.uid <> $collection_uid
DELETE r
WITH DISTINCT i, col, row
MERGE (col)-[:CONTAINS]->(i)
WITH i, row
UNWIND row.references AS ref
MATCH (k:Concept {key: ref.key})
CREATE (i)-[:REFERENCES {weight: ref.weight}]->(k)
"""

# An item that was whole stays as it was when its new version cannot be read or embedded.
FAIL_ITEM_QUERY: Final = """
MATCH (col:Collection {uid: $collection_uid})
MERGE (i:Item {uid: $uid})
ON CREATE SET i.created_at = datetime(), i.status = 'failed', i.title = $title, i.item_type = $item_type,
    i.source = $source, i.library_uid = $library_uid, i.library_type = $library_type,
    i.collection_uid = $collection_uid
SET i.error = $error
WITH i, col
WHERE i.collection_uid = $collection_uid
MERGE (col)-[:CONTAINS]->(i)
"""

CREATE_CHUNKS_QUERY: Final = """
UNWIND $chunks AS row
MATCH (i:Item {uid: row.item_uid})
CREATE (i)-[:HAS_CHUNK]->(c:Chunk {
  uid: row.uid, chunk_index: row.index, text: row.text, text_preview: row.preview, title: row.title,
  section: row.section, page: row.page, chunk_s3_key: row.storage_key, embedding_model: $model,
  item_uid: row.item_uid, library_uid: $library_uid, library_type: $library_type,
  collection_uid: $collection_uid})
WITH c, row
CALL db.create.setNodeVectorProperty(c, 'embedding', row.embedding)
WITH c, row
UNWIND row.mentions AS m
MATCH (k:Concept {key: m.key})
CREATE (c)-[:MENTIONS {weight: m.weight, rank: m.rank}]->(k)
"""

CREATE_IMAGES_QUERY: Final = """
UNWIND $images AS row
MATCH (i:Item {uid: row.item_uid})
CREATE (i)-[:HAS_IMAGE]->(p:Image {
  uid: row.uid, image_type: row.image_type, description: row.description, ocr_text: row.ocr_text,
  s3_key: row.storage_key, page: row.page, look: row.look})
WITH p, row
UNWIND row.depicts AS m
MATCH (k:Concept {key: m.key})
CREATE (p)-[:DEPICTS {weight: m.weight}]->(k)
"""

CREATE_IMAGE_EMBEDDINGS_QUERY: Final = """
UNWIND $images AS row
MATCH (p:Image {uid: row.uid})
CREATE (p)-[:HAS_EMBEDDING]->(e:ImageEmbedding {
  uid: row.embedding_uid, embedding_model: $model, library_uid: $library_uid, library_type: $library_type,
  collection_uid: $collection_uid})
WITH e, row
CALL db.create.setNodeVectorProperty(e, 'embedding', row.embedding)
"""

# Concepts that are merely mentioned `together` are related from the smaller key to the greater, others as the text
# says; each library has its own relations: what it makes of two concepts is shown only to those who see it. `count` is
# the number of its chunks in which both are among the strongest mentions, or of its items that say so; it is moved by
# differences, so that nothing grows when an item comes again.
RELATE_QUERY: Final = """
UNWIND $pairs AS row
MATCH (a:Concept {key: row.a})
MATCH (b:Concept {key: row.b})
MERGE (a)-[r:RELATED_TO {library_uid: row.library_uid, relation_type: row.type}]->(b)
SET r.count = coalesce(r.count, 0) + row.delta
SET r.weight = 1.0 - 0.5 ^ r.count
"""

UNRELATE_QUERY: Final = """
UNWIND $pairs AS row
MATCH (a:Concept {key: row.a})-[r:RELATED_TO {library_uid: row.library_uid, relation_type: row.type}]->(b:Concept)
WHERE b.key = row.b AND r.count <= 0
DELETE r
"""

CONCEPT_USE_QUERY: Final = """
UNWIND $keys AS key
MATCH (k:Concept {key: key})
RETURN key, k.library_uids AS library_uids, k.library_types AS library_types,
  k.collection_uids AS collection_uids, coalesce(k.namings, []) AS namings,
  EXISTS { (k)<-[:MENTIONS|REFERENCES|DEPICTS]-() } AS used,
  EXISTS { (k)<-[:MENTIONS]-(c:Chunk) WHERE c.library_uid = $library_uid }
    OR EXISTS { (k)<-[:REFERENCES]-(i:Item) WHERE i.library_uid = $library_uid } AS in_library,
  EXISTS { (k)<-[:MENTIONS]-(c:Chunk) WHERE c.library_type = $library_type }
    OR EXISTS { (k)<-[:REFERENCES]-(i:Item) WHERE i.library_type = $library_type } AS in_type,
  EXISTS { (k)<-[:MENTIONS]-(c:Chunk) WHERE c.collection_uid = $collection_uid }
    OR EXISTS { (k)<-[:REFERENCES]-(i:Item) WHERE i.collection_uid = $collection_uid } AS in_collection
"""

SET_CONCEPT_SCOPE_QUERY: Final = """
UNWIND $concepts AS row
MATCH (k:Concept {key: row.key})
SET k.library_uids = row.library_uids, k.library_types = row.library_types,
    k.collection_uids = row.collection_uids, k.namings = row.namings
"""

ADD_CONCEPT_SCOPE_QUERY: Final = """
UNWIND $keys AS key
MATCH (k:Concept {key: key})
SET k.library_uids = COLLECT { UNWIND k.library_uids + [$library_uid] AS x WITH DISTINCT x ORDER BY x RETURN x },
    k.library_types = COLLECT { UNWIND k.library_types + [$library_type] AS x WITH DISTINCT x ORDER BY x RETURN x },
    k.collection_uids =
      COLLECT { UNWIND k.collection_uids + [$collection_uid] AS x WITH DISTINCT x ORDER BY x RETURN x },
    k.namings = CASE
      WHEN k.namings IS NULL OR any(n IN k.namings WHERE n STARTS WITH $library_uid) THEN k.namings
      ELSE k.namings + (($library_uid + '\\u001F' + coalesce(k.concept_type, 'phrase')) + '\\u001F' + k.name) END
"""

DELETE_CONCEPTS_QUERY: Final = """
UNWIND $keys AS key
MATCH (k:Concept {key: key})
DETACH DELETE k
"""

MOVE_ITEM_QUERY: Final = """
MATCH (i:Item {uid: $uid})
MATCH (col:Collection {uid: $collection_uid})
OPTIONAL MATCH (:Collection)-[r:CONTAINS]->(i)
DELETE r
WITH DISTINCT i, col
CREATE (col)-[:CONTAINS]->(i)
SET i.library_uid = $library_uid, i.library_type = $library_type, i.collection_uid = $collection_uid
WITH i
OPTIONAL MATCH (i)-[:HAS_CHUNK]->(c:Chunk)
SET c.library_uid = $library_uid, c.library_type = $library_type, c.collection_uid = $collection_uid
WITH DISTINCT i
OPTIONAL MATCH (i)-[:HAS_IMAGE]->(:Image)-[:HAS_EMBEDDING]->(e:ImageEmbedding)
SET e.library_uid = $library_uid, e.library_type = $library_type, e.collection_uid = $collection_uid
"""
