"""The query language: "phrases", -excluded, +required and title:words. Pure.

    salt kiln            words: any of them counts, more is better
    "salt kiln"          these words, in this order, one after the other
    +kiln  +"salt kiln"  must be there
    -kiln  -"salt kiln"  must not be there
    title:kiln  title:"salt kiln"   must be in the title
    #glaze               a tag: searched as its word

A phrase in a question of many words ("Who wrote the song "Salt Kiln" that ...?") is preferred and not required: the
passage that answers seldom repeats the name. On HotpotQA-100, where 12 questions quote one, requiring it costs .03 of
nDCG@10. +"..." requires it all the same.

An operator stands at the beginning of a word, after white space. A hyphen inside a word, a number (-5, +49), one
letter (-x) or a second hyphen (--force) is no operator. What is not valid syntax is plain words, never an error.
Curly and angled quotation marks are quotation marks. Operators hold for every leg, by one predicate: `matches` in
Python, `keep_patterns`, `drop_patterns` and `title_patterns` in Cypher; `to_lucene` asks the index for those hits.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from library.services.query_terms import composed, is_in, java_pattern, words_of
from library.services.retrievers.lucene import STOP_WORDS, any_of

# How many terms each operator may have. A query with all of them, 64 words and 800 libraries, in three fields, is
# within what Lucene takes.
MAX_TERMS: Final = 16
# A question of so many words beside its phrases quotes a name or a title; it does not ask for that passage alone.
QUESTION_WORDS: Final = 8
MAX_TERM_WORDS: Final = 32
MAX_WORDS: Final = 64
# A code found whole outweighs its parts found apart.
EXACT_BOOST: Final = 4.0
_MAX_EXAMPLE: Final = 40
_PUNCTUATION: Final = " .,;:!?'\"()[]{}…"

_QUOTES: Final = str.maketrans(dict.fromkeys("“”„‟«»＂〝〞", '"'))
_INVISIBLE: Final = str.maketrans(dict.fromkeys("\u00ad\u200b\u2060\ufeff"))
_MINUS: Final = "-\u2212\uff0d"
_PLUS: Final = "+\uff0b"
_QUOTED: Final = re.compile(rf'(?P<op>[{_MINUS}{_PLUS}])?(?P<title>title[:：])?"(?P<inner>[^"]*)"', re.IGNORECASE)
_OPENING: Final = "([{"
_TOKEN: Final = re.compile(r"\S+")
_TITLE: Final = re.compile(r"title[:：](?P<value>.*)", re.IGNORECASE | re.DOTALL)
_TAG: Final = re.compile(r"[#＃]([^\W\d_][\w-]*)")
_SUFFIX: Final = re.compile(r"[~^]\d*(?:\.\d+)?(?=\s|$)")
# A host and its port (localhost:8080) look like a field and its value, so numbers are for names that could be fields.
_FIELD: Final = re.compile(r'([^\W\d_]{2,}):(?:"|[^\W\d_])|(author|date|isbn|page|year):\w', re.IGNORECASE)
# Syntax of other search languages. A query that shouts (all capitals) does not mean its AND as an operator.
_FOREIGN: Final = (
    ("wildcard", re.compile(r"\w\*|\*\w|\w\?\w")),
    ("fuzzy match", re.compile(r"\w~\d*(?:\.\d+)?$")),
    ("boost", re.compile(r"\w\^\d")),
)
_RANGE: Final = re.compile(r"[\[{]\s*\S+ TO \S+\s*[\]}]")
_BOOLEAN: Final = re.compile(r"AND|OR|NOT|&&|\|\||!\w+")


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query taken apart. Terms are as typed, each once; `plain_text` is what is embedded and re-ranked."""

    raw: str
    plain_text: str = ""
    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    title_words: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def has_operators(self) -> bool:
        """True where a hit must pass `matches` to be shown."""
        return bool(self.phrases or self.required or self.excluded or self.title_words)

    @property
    def must_hold(self) -> bool:
        """True where something has to stand in a hit: a phrase, a required word or a title term."""
        return bool(self.phrases or self.required or self.title_words)

    @property
    def is_only_exclusions(self) -> bool:
        """True where the query says what is not wanted and nothing else: there is nothing to search by."""
        return bool(self.excluded) and not words_of(self.plain_text)

    @property
    def is_only_phrases(self) -> bool:
        """True for a query whose every word stands in a phrase."""
        return bool(self.phrases) and not (self.words or self.required or self.excluded or self.title_words)

    @property
    def keep_patterns(self) -> list[str]:
        """Java regexes of phrases and required words: each must match one of a hit's texts."""
        return [java_pattern(term) for term in (*self.phrases, *self.required)]

    @property
    def drop_patterns(self) -> list[str]:
        """Java regexes of exclusions: none may match any of a hit's texts."""
        return [java_pattern(term) for term in self.excluded]

    @property
    def title_patterns(self) -> list[str]:
        """Java regexes that must each match the title."""
        return [java_pattern(term) for term in self.title_words]


@dataclass(slots=True)
class _Draft:
    """A query on its way through the parser."""

    plain: str = ""
    words: list[str] = field(default_factory=list)
    terms: dict[str, dict[str, str]] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)

    def warn(self, key: str, text: str, example: str = "") -> None:
        """Keep the first warning of its kind."""
        shown = example if len(example) <= _MAX_EXAMPLE else example[:_MAX_EXAMPLE] + "…"
        self.warnings.setdefault(key, text.format(shown))

    def add_plain(self, text: str, gap: str) -> None:
        self.plain += gap + text
        self.words.extend(words_of(text))

    def add_term(self, kind: str, text: str, gap: str) -> None:
        """Take `text` as a term; what there is too much of becomes plain words, or is left out if excluded."""
        words = words_of(text)
        if not words:
            self.warn("empty", "{} was passed over: it has no word in it.", text.strip() or "An empty phrase")
            return
        known = self.terms.setdefault(kind, {})
        if len(words) > MAX_TERM_WORDS or (len(known) >= MAX_TERMS and _key(words) not in known):
            fate = "was left out" if kind == "excluded" else "was taken as plain words"
            limits = f"{MAX_TERMS} {_NAMES[kind]} of up to {MAX_TERM_WORDS} words"
            self.warn(f"limit {kind}", f"A query may have {limits}; the rest {fate}.")
            if kind != "excluded":
                self.add_plain(text, gap)
            return
        known.setdefault(_key(words), " ".join(text.split()).strip(_PUNCTUATION))
        if kind != "excluded":
            self.plain += gap + text


_NAMES: Final = {
    "phrases": "phrases",
    "required": "required terms",
    "excluded": "exclusions",
    "title_words": "title terms",
}


def parse(text: str) -> ParsedQuery:
    """The query taken apart. Never raises: what is not valid syntax is plain words, with a warning."""
    source = composed(text.translate(_INVISIBLE)).translate(_QUOTES)
    draft = _Draft()
    shouted = source == source.upper()
    tags: dict[str, None] = {}
    for gap, unit in _units(source, draft):
        if isinstance(unit, re.Match):
            _take_quoted(draft, unit, gap)
            continue
        tag = _TAG.match(unit)
        if tag is not None:
            tags.setdefault(tag.group(1))
        _take_token(draft, unit, gap, shouted)
    if _RANGE.search(source):
        draft.warn("range", "A range was taken as plain words: {}.", _first(_RANGE, source))
    _prefer_quoted_names(draft)
    terms = {kind: tuple(found.values()) for kind, found in draft.terms.items()}
    parsed = ParsedQuery(
        raw=text,
        plain_text=" ".join(draft.plain.split()) if words_of(draft.plain) or "excluded" not in terms else "",
        words=tuple(draft.words),
        tags=tuple(tags),
        **terms,
    )
    if parsed.is_only_exclusions:
        draft.warn("only exclusions", "The query says only what is not wanted; add a word to search for.")
    return replace(parsed, warnings=tuple(draft.warnings.values()))


def _prefer_quoted_names(draft: _Draft) -> None:
    """In a long question without other operators, make the phrases preferred; their words count like the others."""
    if not draft.terms.get("phrases") or len(draft.terms) > 1 or len(draft.words) < QUESTION_WORDS:
        return
    draft.terms["preferred"] = draft.terms.pop("phrases")
    for phrase in draft.terms["preferred"].values():
        draft.words.extend(words_of(phrase))
    example = next(iter(draft.terms["preferred"].values()))
    draft.warn("preferred", 'In a long question a phrase is preferred, not required; to require it: +"{}".', example)


def _units(source: str, draft: _Draft) -> Iterator[tuple[str, "re.Match[str] | str"]]:
    """Quoted terms and runs without white space, in order; the gap is " " where a word may begin, else ""."""
    position, end, gap = 0, len(source), " "
    while position < end:
        if source[position].isspace():
            position, gap = position + 1, " "
            continue
        quoted = _QUOTED.match(source, position) if gap or source[position - 1] in _OPENING else None
        if quoted is not None:
            yield gap, quoted
            position, gap = quoted.end(), ""
            suffix = _SUFFIX.match(source, position)
            if suffix is not None:
                draft.warn("suffix", "{} after a phrase means nothing here and was left out.", suffix.group())
                position = suffix.end()
            continue
        if source[position] in _OPENING:
            yield gap, source[position]
            position, gap = position + 1, ""
            continue
        token = _TOKEN.match(source, position)
        assert token is not None  # noqa: S101 - the character here is no white space
        yield gap, token.group()
        position, gap = token.end(), ""


def _take_quoted(draft: _Draft, match: re.Match[str], gap: str) -> None:
    operator, inner = match["op"] or "", match["inner"]
    if match["title"] and operator in _MINUS and operator:
        draft.warn("minus title", "{} was taken as plain words: a title cannot be excluded.", match.group())
        draft.add_plain(inner, gap)
    elif match["title"]:
        draft.add_term("title_words", inner, gap)
    elif operator:
        draft.add_term("required" if operator in _PLUS else "excluded", inner, gap)
    else:
        draft.add_term("phrases", inner, gap)


def _take_token(draft: _Draft, token: str, gap: str, shouted: bool) -> None:
    operator, rest = (token[0], token[1:]) if gap and token[0] in _PLUS + _MINUS else ("", token)
    title = _TITLE.match(rest)
    if title is not None and words_of(title["value"]) and not (operator and operator in _MINUS):
        _warn_of_foreign_syntax(draft, title["value"], shouted)
        draft.add_term("title_words", title["value"], gap)
    elif operator and _is_operand(draft, operator, rest):
        _warn_of_foreign_syntax(draft, rest, shouted)
        draft.add_term("required" if operator in _PLUS else "excluded", rest, gap)
    else:
        _warn_of_foreign_syntax(draft, token, shouted)
        if rest.startswith('"'):
            draft.warn("quote", "A quotation mark without its partner was passed over.")
            token = token.replace('"', "")
        draft.add_plain(token, gap)


def _is_operand(draft: _Draft, operator: str, rest: str) -> bool:
    """Whether what follows + or - is a term, and not a number, a flag of a command, or nothing."""
    if not rest or not words_of(rest) or not rest[0].isalnum():
        if rest and rest[0] in _OPENING:
            draft.warn("group", "{} before a group means nothing here.", operator)
        return False
    example = operator + rest
    if rest[0].isdecimal():
        verb = "require" if operator in _PLUS else "exclude"
        draft.warn("number", f"{{}} was taken as a number; to {verb} it, put it in quotation marks.", example)
        return False
    if len(rest) == 1 and rest.isascii():
        draft.warn("letter", "{} was taken as plain words: one letter is no term.", example)
        return False
    if _TITLE.match(rest):
        draft.warn("minus title", "{} was taken as plain words: a title cannot be excluded.", example)
        return False
    return True


def _warn_of_foreign_syntax(draft: _Draft, token: str, shouted: bool) -> None:
    for name, pattern in _FOREIGN:
        if pattern.search(token):
            draft.warn(name, f"A {name} was taken as plain words: {{}}.", token)
    if not shouted and _BOOLEAN.fullmatch(token):
        draft.warn("boolean", "{} was taken as a plain word; use +word, -word and quotation marks.", token)
    named = _FIELD.match(token)
    name = (named.group(1) or named.group(2)) if named is not None else ""
    if name and name.casefold() not in ("title", "mailto"):
        draft.warn("field", "There is no field {}; it was taken as a plain word. The one field is title.", name)


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found.group() if found is not None else ""


def _key(words: Sequence[str]) -> str:
    return " ".join(words).casefold()


def matches(parsed: ParsedQuery, text: str, title: str = "", section: str = "") -> bool:
    """Whether a chunk may be shown: it holds every phrase and required term, its title every title term, and nothing
    of it an excluded one. A term lies whole in one of the three texts.
    """
    if not parsed.has_operators:
        return True
    texts = [composed(part) for part in (text, title, section)]
    return (
        not any(is_in(term, texts) for term in parsed.excluded)
        and all(is_in(term, texts) for term in (*parsed.phrases, *parsed.required))
        and all(is_in(term, texts[1:2]) for term in parsed.title_words)
    )


def to_lucene(
    parsed: ParsedQuery,
    fields: Mapping[str, float],
    *,
    title_field: str = "title",
    max_words: int = MAX_WORDS,
    exact: Sequence[str] = (),
    require_exact: bool = False,
) -> str:
    """The text clauses of a Lucene query, to be put before those of the scope; "" where nothing could be found.

    Plain words count, and where there is no other term one of them must be there. Terms are quoted, so that a word
    which the analyzer splits stays together. `exact` are spellings of codes among the plain words: as a whole they
    count `EXACT_BOOST` times, or one of them must be there. The analyzer stems, so the index finds a little more than
    `matches` keeps, and excludes a little more, too.
    """
    terms = [term for term in (*parsed.phrases, *parsed.required) if is_searchable(term)]
    must = [f"({' '.join(_clauses(term, fields))})" for term in terms]
    must += [_quoted(title_field, term) for term in parsed.title_words if is_searchable(term)]
    wholes = [clause for term in exact if is_searchable(term) for clause in _clauses(term, fields, EXACT_BOOST)]
    names = [clause for term in parsed.preferred if is_searchable(term) for clause in _clauses(term, fields)]
    if require_exact and wholes:
        must.append(f"({' '.join(wholes)})")
    words, any_word = parsed.words[:max_words], ""
    if any(is_searchable(word) for word in words):
        group = any_of(words)
        clauses = [f"{name}:{group}^{boost:g}" for name, boost in fields.items()]
        any_word = f"({' '.join(clauses if require_exact else clauses + wholes + names)})"
    if not must and not any_word:
        return ""
    wanted = [f"+{clause}" for clause in must]
    if any_word:
        wanted.append(any_word if must else f"+{any_word}")
    unwanted = [f"-{_quoted(name, term)}" for term in parsed.excluded if is_searchable(term) for name in fields]
    return " ".join(wanted + unwanted)


def is_searchable(term: str) -> bool:
    """False where the analyzer would leave nothing of the term."""
    return any(run.lower() not in STOP_WORDS for run in re.findall(r"\w+", term))


def _clauses(term: str, fields: Mapping[str, float], factor: float = 1.0) -> list[str]:
    return [f"{_quoted(name, term)}^{boost * factor:g}" for name, boost in fields.items()]


def _quoted(name: str, term: str) -> str:
    """`term` in one field, as words in a row. Words hold neither quotation marks nor backslashes."""
    return f'{name}:"{" ".join(words_of(composed(term)))}"'
