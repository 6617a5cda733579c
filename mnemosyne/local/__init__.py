"""Development stand-ins: the real Neo4j without Docker, and a small model server that speaks Synesis's protocol.

Nothing here is imported by ``library``, and nothing here imports it: the two sides meet over Bolt and HTTP only.
"""
