"""Every error the library raises on purpose. One tree: the API and the commands each map it in one place."""


class MnemosyneError(Exception):
    """Base of all errors raised by the library; `code` is stable and machine-readable."""

    code = "error"


class InvalidRequest(MnemosyneError):
    """The caller asked for something that makes no sense; `field` names what to mend."""

    code = "invalid"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class NotConfigured(MnemosyneError):
    """A setting or a record that the operation needs does not exist; the message says how to make it."""

    code = "not_configured"


class GraphError(MnemosyneError):
    """Neo4j refused a query. The message never repeats Neo4j's own text to a user."""

    code = "graph_error"


class GraphUnavailable(GraphError):
    """Neo4j could not be reached."""

    code = "graph_unavailable"


class GraphTimeout(GraphError):
    """Neo4j cancelled the query because its time was up."""

    code = "graph_timeout"


class SchemaMismatch(MnemosyneError):
    """An index exists with other properties than the configuration needs."""

    code = "schema_mismatch"


class ModelError(MnemosyneError):
    """A model service failed or gave an answer that cannot be used."""

    code = "model_error"


class ModelUnavailable(ModelError):
    """A model service could not be reached, or answered with a server error."""

    code = "model_unavailable"


class ModelTimeout(ModelUnavailable):
    """A model service did not answer within its time."""

    code = "model_timeout"


class ModelRefused(ModelError):
    """A model service refused the request (4xx); `status` is its HTTP status."""

    code = "model_refused"

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class SearchUnavailable(MnemosyneError):
    """No retriever could answer."""

    code = "search_unavailable"


class EmbeddingUnavailable(SearchUnavailable):
    """The search needs vectors only, and no embedding could be had."""

    code = "embedding_unavailable"


class ExtractionError(MnemosyneError):
    """A file cannot be read as what it says it is; the message is meant for the person who gave it."""

    code = "not_readable"


class NoText(ExtractionError):
    """A file is sound but holds no text."""

    code = "no_text"
