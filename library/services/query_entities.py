"""What a query names: years, phrases, tags, error codes, ISBNs, part numbers, versions, files, identifiers. Pure."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from library.services.query_language import ParsedQuery

EntityKind = Literal["isbn", "error_code", "path", "version", "part_number", "identifier", "year", "phrase", "tag"]
# Kinds whose exact token is what is looked for.
CODE_KINDS: Final[frozenset[EntityKind]] = frozenset({"isbn", "error_code", "part_number"})
NAME_KINDS: Final[frozenset[EntityKind]] = frozenset({"path", "identifier"})


@dataclass(frozen=True, slots=True)
class Entity:
    """Something named in a query, as typed."""

    kind: EntityKind
    text: str


# Ten or thirteen digits, one space or hyphen between any two; whether it is an ISBN its check digit tells.
_ISBN: Final = re.compile(r"(?<![\w-])(?:[0-9][ -]?){9,12}[0-9Xx](?![\w-])")
_ERRNO: Final = (
    "EACCES|EADDRINUSE|EAGAIN|EBADF|EBUSY|ECONNABORTED|ECONNREFUSED|ECONNRESET|EEXIST|EHOSTUNREACH|EINVAL|EIO|EISDIR"
    "|EMFILE|ENOENT|ENOMEM|ENOSPC|ENOTFOUND|EPERM|EPIPE|EROFS|ETIMEDOUT|SIGABRT|SIGBUS|SIGILL|SIGKILL|SIGSEGV"
)
_ERROR_CODES: Final = (
    re.compile(r"\b0x[0-9a-f]{4,16}\b", re.IGNORECASE),
    re.compile(r"\bCVE-[0-9]{4}-[0-9]{4,7}\b", re.IGNORECASE),
    re.compile(rf"\b(?:{_ERRNO})\b"),
    re.compile(r"\b(?:[A-Z]+_)*ERR(?:OR)?(?:_[A-Z0-9]+)+\b"),
    re.compile(r"\bE[0-9]{4,6}\b", re.IGNORECASE),
    # ORA-00942, KB-2919355. In lower case only where no year (post-1945) and no model (boeing-747) looks the same.
    re.compile(r"\b(?!(?:PRE|POST|MID|LATE|EARLY|CIRCA|NON)-)[A-Z]{2,6}-[0-9]{3,7}\b"),
    re.compile(r"\b[a-z]{2,6}-(?:0[0-9]{3,6}|[0-9]{5,7})\b"),
    # TS2304, CS8618, but no series of parts and no standard.
    re.compile(r"\b(?:TS|CS|PG|SQL|AADSTS|NETSDK|MSB|LNK|KB)[0-9]{3,7}\b"),
    re.compile(r"\bHTTP(?:[ /-](?:error|status|code))*[ -][1-5][0-9]{2}\b", re.IGNORECASE),
    re.compile(
        r"\b(?:error|errno|err|exit|status|stop|fault|event)(?:[ -](?:code|id|no\.?|number))?[ :#-]{1,3}"
        r"(?!(?:1[4-9]|20)[0-9]{2}\b)[0-9]{2,10}\b",
        re.IGNORECASE,
    ),
)
_PATH: Final = re.compile(
    r"""(?<!\S)(?:
        https?://\S+ | [A-Za-z]:\\\S+ | (?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]*)* | (?:[\w-]+/)+[\w.-]+\.\w+
        | [\w-]+(?:\.[\w-]+)*\.(?:bat|c|cfg|conf|cpp|cs|css|csv|db|docx?|epub|exe|go|html?|ini|ipynb|jar|java|jpe?g|js
          |json|lock|log|md|mp3|odt|pdf|php|png|ps1|py|rb|rs|rst|sh|so|sql|svg|toml|ts|tsx|txt|wav|xlsx?|xml|ya?ml|zip)
    )(?=[\s,;:!?)]|\.?$|\.\s)""",
    re.VERBOSE | re.IGNORECASE,
)
_VERSION: Final = re.compile(
    r"(?<![\w.,-])(?:v[0-9]+(?:\.[0-9]+)*|[0-9]+(?:\.[0-9]+){2,3}|(?<=version )[0-9]+(?:\.[0-9]+)?)"
    r"(?:-?(?:alpha|beta|rc)\.?[0-9]*)?(?![\w:-])(?!\.[0-9])",
    re.IGNORECASE,
)
_PART_TOKEN: Final = re.compile(r"(?<![\w/.])[A-Za-z0-9]+(?:[-/.][A-Za-z0-9]+)*(?![\w])")
# A further group of a part number that is written with spaces (6ES7 315-2AG10-0AB0).
_PART_GROUP: Final = re.compile(r"[A-Z0-9]+(?:-[A-Z0-9]+)*")
_IDENTIFIER: Final = re.compile(r"(?<![\w/.])_{0,2}[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+_{0,2}(?!\w)")
_CAMEL: Final = re.compile(
    r"(?<!\w)(?:[a-z]+[A-Z][A-Za-z0-9]*\(\)|[a-z]+(?:[A-Z][a-z0-9]+){2,}|(?:[A-Z][a-z0-9]+){3,})(?!\w)"
)
_YEAR: Final = re.compile(r"(?<![\w.,:/])(1[4-9][0-9]{2}|20[0-9]{2})(?=s?(?![\w:])(?![.,][0-9]))")
_SWITCH: Final = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")
# Numbers with a unit or an ending (1080p, 500mg, 1950s), and words with a number (covid19): no part numbers.
_MEASURE: Final = re.compile(r"[0-9.]+[A-Za-z]{1,3}|[A-Za-z]{4,}[0-9]+")
_LONG_WORD: Final = re.compile(r"[A-Za-z]*[a-z]{3,}")


def entities_of(parsed: ParsedQuery, text: str) -> list[Entity]:
    """What `text` (the query without operators, in its own case) names, each once; what is part of another is not."""
    found: list[Entity] = []
    left = text
    for kind, finder in _FINDERS:
        for start, end in list(finder(left)):
            found.append(Entity(kind, text[start:end]))
            left = left[:start] + "\x00" * (end - start) + left[end:]
    found += [Entity("phrase", phrase) for phrase in parsed.phrases]
    found += [Entity("tag", tag) for tag in parsed.tags]
    return list(dict.fromkeys(found))


def is_isbn(text: str) -> bool:
    """Whether the check digit is right: ISBN-10 modulo 11, ISBN-13 (978 and 979) modulo 10."""
    digits = text.replace("-", "").replace(" ", "").upper()
    if re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        values = [10 if digit == "X" else int(digit) for digit in digits]
        return sum(weight * value for weight, value in zip(range(10, 0, -1), values, strict=True)) % 11 == 0
    if re.fullmatch(r"97[89][0-9]{10}", digits):
        return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0
    return False


def spellings(entity: Entity) -> list[str]:
    """How a code may stand in a text: as typed, and an ISBN also without its hyphens."""
    bare = entity.text.replace("-", "").replace(" ", "")
    return [entity.text, bare] if entity.kind == "isbn" and bare != entity.text else [entity.text]


Span = tuple[int, int]
Finder = Callable[[str], Iterator[Span]]


def _isbns(text: str) -> Iterator[Span]:
    return (match.span() for match in _ISBN.finditer(text) if is_isbn(match.group()))


def _error_codes(text: str) -> Iterator[Span]:
    taken: list[Span] = []
    for pattern in _ERROR_CODES:
        for match in pattern.finditer(text):
            if all(match.end() <= start or match.start() >= end for start, end in taken):
                taken.append(match.span())
    return iter(sorted(taken))


def _part_numbers(text: str) -> Iterator[Span]:
    """Runs of tokens one of which is a part number and the others could be groups of it."""
    tokens = list(_PART_TOKEN.finditer(text))
    number = 0
    while number < len(tokens):
        last = number
        while (
            last + 1 < len(tokens)
            and tokens[last + 1].start() == tokens[last].end() + 1
            and all(_could_be_group(token.group()) for token in tokens[last : last + 2])
        ):
            last += 1
        if any(_is_part_number(token.group()) for token in tokens[number : last + 1]):
            yield tokens[number].start(), tokens[last].end()
        number = last + 1


def _could_be_group(token: str) -> bool:
    return _PART_GROUP.fullmatch(token) is not None and any(c.isdigit() for c in token) and len(token) > 1


def _is_part_number(token: str) -> bool:
    """Letters and digits mixed: three digits or more, and two letters or two changes from one to the other."""
    if len(token) < 5 or _MEASURE.fullmatch(token):
        return False
    if any(_LONG_WORD.fullmatch(piece) for piece in re.split(r"[-/.]", token)):
        return False
    digits = sum(character.isdigit() for character in token)
    letters = sum(character.isalpha() for character in token)
    return digits >= 3 and letters >= 1 and (letters >= 2 or len(_SWITCH.findall(token)) >= 2)


def _matching(pattern: re.Pattern[str]) -> Finder:
    return lambda text: (match.span() for match in pattern.finditer(text))


# In this order: what one takes, the later ones do not see.
_FINDERS: Final[tuple[tuple[EntityKind, Finder], ...]] = (
    ("path", _matching(_PATH)),
    ("isbn", _isbns),
    ("error_code", _error_codes),
    ("version", _matching(_VERSION)),
    ("part_number", _part_numbers),
    ("identifier", _matching(_IDENTIFIER)),
    ("identifier", _matching(_CAMEL)),
    ("year", _matching(_YEAR)),
)
