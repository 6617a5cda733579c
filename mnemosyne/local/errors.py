"""The one error type of the local stack: what failed, and what to do about it."""


class LocalStackError(Exception):
    """A local service could not be prepared, started or stopped.

    ``remedy`` is one sentence in the imperative that tells the reader what to do next.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message
