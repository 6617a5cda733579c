"""The stages from a query's text to what is known of it: normalise, tokenise, entities, characteristics, type. Pure."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from library.services.query_entities import CODE_KINDS, NAME_KINDS, Entity, EntityKind, entities_of, spellings
from library.services.query_language import ParsedQuery, is_searchable
from library.services.query_questions import QuestionType, question_type
from library.services.query_terms import words_of

_STRAIGHT: Final = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"'})
_NEGATION: Final = re.compile(r"\b(?:not|no(?!\.)|never|nor|neither|without|except|excluding)\b|n't\b|\bcannot\b")
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DATE: Final = re.compile(
    rf"""\b[0-9]{{4}}-[0-9]{{2}}(?:-[0-9]{{2}})?\b
    | \b[0-9]{{1,2}}[./][0-9]{{1,2}}[./](?:[0-9]{{2}}|[0-9]{{4}})\b
    | \b{_MONTH}\.?\ (?:[0-9]{{1,2}}(?:st|nd|rd|th)?\b|[0-9]{{4}}\b)
    | \b[0-9]{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}\b
    | \b[0-9]{{1,2}}(?:st|nd|rd|th)\ century\b
    | \b(?:[0-9]0|[0-9]{{3}}0)'?s\b
    | \b(?:last|this|past|previous)\ (?:night|week|weekend|month|year|spring|summer|autumn|fall|winter|decade|century)\b
    | \b(?:yesterday|today)\b
    | \b(?:before|after|since|until|between|during|in|from)\ {_MONTH}\b(?!\ i\b)""",
    re.VERBOSE,
)
# Nouns that say what a code is and add nothing to it.
_CODE_NOUNS: Final = frozenset(
    re.findall(
        r"\w+",
        """a an the article bug code errno error event exception exit fault for http id isbn item message model my no nr
        number numbers of order part product ref reference serial status stop""",
    )
)


@dataclass(frozen=True, slots=True)
class QueryContext:
    """What is known of a query, and how it is to be searched. `normalized` and `tokens` are in lower case (NFKC)."""

    raw_query: str
    normalized: str
    tokens: list[str]
    entities: list[Entity]
    token_count: int
    has_special_syntax: bool
    has_date_filters: bool
    has_negation: bool
    question_type: QuestionType
    search_strategy: str
    confidence: float


@dataclass(frozen=True, slots=True)
class QueryFeatures:
    """What routing reads. `tokens` are those of the query without its operators and exclusions."""

    parsed: ParsedQuery
    normalized: str
    tokens: tuple[str, ...]
    entities: tuple[Entity, ...]
    has_date_filters: bool
    has_negation: bool
    question_type: QuestionType
    cue: str

    @property
    def codes(self) -> tuple[Entity, ...]:
        """Error codes, ISBNs and part numbers."""
        return tuple(entity for entity in self.entities if entity.kind in CODE_KINDS)

    @property
    def is_all_codes(self) -> bool:
        """Codes, and no other word than what kind of code it is."""
        return bool(self.codes) and self._rest(CODE_KINDS) <= _CODE_NOUNS

    @property
    def is_all_names(self) -> bool:
        """Files, paths and identifiers, and no other word."""
        return any(entity.kind in NAME_KINDS for entity in self.entities) and not self._rest(CODE_KINDS | NAME_KINDS)

    @property
    def is_searchable_phrase(self) -> bool:
        """Quoted from end to end, with a word in each phrase that the index knows."""
        return self.parsed.is_only_phrases and all(is_searchable(phrase) for phrase in self.parsed.phrases)

    @property
    def exact_terms(self) -> tuple[str, ...]:
        """The spellings of the query's codes, or of its names where it has nothing else."""
        exact = self.codes or tuple(e for e in self.entities if e.kind in NAME_KINDS and self.is_all_names)
        return tuple(dict.fromkeys(spelling for entity in exact for spelling in spellings(entity)))

    def _rest(self, kinds: frozenset[EntityKind]) -> set[str]:
        named = {word for e in self.entities if e.kind in kinds for word in words_of(normalize(e.text))}
        return set(self.tokens) - named


def normalize(text: str) -> str:
    """Compatibility composition (NFKC), lower case, straight quotation marks, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_STRAIGHT).lower().split())


def features_of(parsed: ParsedQuery) -> QueryFeatures:
    """All that the text of a query tells."""
    plain = normalize(parsed.plain_text)
    entities = tuple(entities_of(parsed, parsed.plain_text))
    kind, cue = question_type(plain)
    return QueryFeatures(
        parsed=parsed,
        normalized=normalize(parsed.raw),
        tokens=tuple(words_of(plain)),
        entities=entities,
        has_date_filters=any(entity.kind == "year" for entity in entities) or _DATE.search(plain) is not None,
        has_negation=bool(parsed.excluded) or _NEGATION.search(plain) is not None,
        question_type=kind,
        cue=cue,
    )
