"""Counting tokens as the embedding model does, or carefully without its tokenizer."""

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from library.exceptions import NotConfigured

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# WordPiece counts a word of more than 100 characters as one unknown token, and would let a text of any length
# pass as short: such a word counts at least one token for 8 characters.
_LONG_WORD: Final = 100
_MAX_CHARS_PER_TOKEN: Final = 8
_MAX_CACHED_WORDS: Final = 100_000
_BLANKS: Final = re.compile(r"\s{2,}|[^\S ]")
_WORD: Final = re.compile(r"[A-Za-z ]+")
_LATIN: Final = re.compile(r"[\u0080-\u024f]")
# Special tokens around a text, such as [CLS] and [SEP]; two is what BERT, XLM-R and Qwen models use at most.
SPECIAL_TOKENS: Final = 2


class TokenCounter(Protocol):
    """Counts the tokens of a text, without the special ones around it."""

    def __call__(self, text: str) -> int: ...


class _WordCounts(dict[str, int]):
    """Tokens of each word met so far: looking for the best boundary counts a text's words many times over."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, word: str) -> int:
        counted = len(self._tokenizer.encode(word, add_special_tokens=False).ids)
        if len(word) > _LONG_WORD:
            return max(counted, math.ceil(len(word) / _MAX_CHARS_PER_TOKEN))
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        self[word] = counted
        return counted


class ModelTokens:
    """Counts with a model's own tokenizer, word by word.

    Exact for tokenizers that split at white space first (WordPiece); for the others never below the truth by more
    than what merges over a word's edge would save, since white space that they count is counted too.
    """

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._counts = _WordCounts(tokenizer)
        joined = tokenizer.encode("a\n\n    b", add_special_tokens=False).ids
        self._blanks_count = len(joined) > len(tokenizer.encode("a b", add_special_tokens=False).ids)

    def __call__(self, text: str) -> int:
        counted = sum(map(self._counts.__getitem__, text.split()))
        return counted + len(_BLANKS.findall(text)) if self._blanks_count else counted


def estimated_tokens(text: str) -> int:
    """A careful estimate: 3 Latin letters or spaces a token; digits and signs 1 each; other scripts 2 a character.

    English text averages 4.5 characters a token, so the estimate is about half as much again as the truth.
    """
    letters = sum(len(run) for run in _WORD.findall(text))
    latin = len(_LATIN.findall(text))
    plain = sum(1 for character in text if character < "\x80") - letters
    other = len(text) - letters - latin - plain
    return math.ceil(letters / 3) + plain + latin + 2 * other


@lru_cache(maxsize=4)
def token_counter(tokenizer_path: str) -> TokenCounter:
    """The counter of a model record: its tokenizer where it names one, else the estimate.

    Raises `NotConfigured` when the named file cannot be read.
    """
    if not tokenizer_path:
        return estimated_tokens
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(tokenizer_path)
    except Exception as error:  # tokenizers raises bare Exception
        raise NotConfigured(f"The embedding model's tokenizer {tokenizer_path} cannot be read") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return ModelTokens(tokenizer)
