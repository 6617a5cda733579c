"""The one error of this server, in the shape that OpenAI's clients understand."""


class ApiError(Exception):
    """Becomes ``{"error": {"message", "type"}}`` with ``status``."""

    def __init__(self, status: int, message: str, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
