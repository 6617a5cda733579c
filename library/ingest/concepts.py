"""What passages and items are about: titles, names and keyphrases, without a language model."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from library.graph.records import ConceptRecord, Mention, Relation, concept_key
from library.ingest.keyphrases import guess_language, keyphrases, stop_words
from library.ingest.names import find_abbreviations, find_names, words_of
from library.ingest.titles import TitleIndex, base_name, title_name

MAX_CHUNK_CONCEPTS: Final = 12
MAX_REFERENCES: Final = 24
# Of a concept's weight: the title of the item itself, another item's title, a name; phrases bring their own.
_OWN_TITLE: Final = 1.0
_OTHER_TITLE: Final = 0.8
_NAME: Final = 0.6
_AGAIN: Final = 0.05
_KIND_ORDER: Final = {"phrase": 0, "name": 1, "title": 2}
_CODE: Final = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(.*?)[ \t]*[.:!?]?[ \t]*#*[ \t]*(?:\n|\Z)", re.MULTILINE)
# A line that goes on in the next one: a name may stand across the two.
_WRAPPED: Final = re.compile(r"(?<=[\w,;)\"'\u2019\u201d])\n(?=[\w(\"'\u2018\u201c])")
_MARKUP: Final = re.compile(r"^#{1,6}\s+|[*`|<>\\]+|https?://\S+|^[ \t]*(?:[-+]|\d+[.)])[ \t]+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ItemConcepts:
    """Concepts of an item. `mentions` stands beside the passages given, `depicts` beside the descriptions."""

    concepts: tuple[ConceptRecord, ...]
    mentions: tuple[tuple[Mention, ...], ...]
    depicts: tuple[tuple[Mention, ...], ...]
    references: tuple[Mention, ...]
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatConcepts:
    """What a chat model made of an item; `remark` is what is to be said of it.

    `fell_back` where the built-in concepts stand for all of it: then the next run asks the model again.
    """

    concepts: ItemConcepts
    remark: str = ""
    fell_back: bool = False


@dataclass(slots=True)
class _Draft:
    """Concepts found so far: how each is called, which kind it is, and which abbreviations stand for it."""

    names: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, set[str]] = field(default_factory=dict)
    short: dict[str, str] = field(default_factory=dict)

    def add(self, key: str, surface: str, kind: str) -> None:
        """Note a concept; a title's name wins over a name's, a name's over a phrase's."""
        if key and (key not in self.names or _KIND_ORDER[kind] > _KIND_ORDER[self.kinds[key]]):
            self.names[key], self.kinds[key] = surface, kind

    def alias(self, key: str, surface: str) -> None:
        """Note another way to write a concept; a difference in case only is none."""
        if concept_key(surface) != key:
            self.aliases.setdefault(key, set()).add(surface)


class ConceptFinder:
    """Finds concepts with knowledge of the titles of a run and its library."""

    def __init__(self, titles: Iterable[str] = ()) -> None:
        self._titles = TitleIndex(titles, stop_words("en"))

    def find(self, title: str, passages: Sequence[str], descriptions: Sequence[str] = ()) -> ItemConcepts:
        """Concepts of one item: at most 12 a passage, 24 references and those that its pictures show."""
        texts = [prose(text) for text in (*passages, *descriptions)]
        language = guess_language(" ".join((title, *texts[:3])))
        draft = _Draft()
        own = self._own_title(title, draft)
        for text in texts:
            self._abbreviations(text, draft)
        heads = [title, *[""] * len(texts)]
        weights = [self._weigh(text, head, language, draft) for text, head in zip(texts, heads, strict=False)]
        for number, found in enumerate(weights):
            if own is not None and (number == 0 or own in found):
                found[own] = _OWN_TITLE
        mentions = [_strongest(found) for found in weights]
        count = len(passages)
        references = _references(mentions, own, mentions[count:])
        used = {mention.key for found in (*mentions, references) for mention in found}
        records = tuple(
            ConceptRecord(key, draft.names[key], draft.kinds[key], tuple(sorted(draft.aliases.get(key, ()))))
            for key in sorted(used)
        )
        return ItemConcepts(records, tuple(mentions[:count]), tuple(mentions[count:]), references)

    def _own_title(self, title: str, draft: _Draft) -> str | None:
        name = title_name(title)
        if name is None or not (key := concept_key(name)):
            return None
        draft.add(key, name, "title")
        base = base_name(name)
        if base is not None:
            draft.alias(key, base)
            draft.short[concept_key(base)] = key
        return key

    def _abbreviations(self, text: str, draft: _Draft) -> None:
        for short, full in find_abbreviations(text).items():
            key = concept_key(full)
            draft.add(key, full, "name")
            draft.alias(key, short)
            draft.short.setdefault(concept_key(short), key)

    def _weigh(self, text: str, title: str, language: str, draft: _Draft) -> dict[str, float]:
        """Key -> weight of what one text is about; `title` is read with it for keyphrases."""
        words = words_of(text)
        weights: dict[str, float] = {}

        def note(surface: str, kind: str, weight: float, key: str | None = None) -> None:
            plain = concept_key(surface) if key is None else key
            key = draft.short.get(plain, plain)
            draft.add(key, surface if key == plain else draft.names.get(key, surface), kind)
            weights[key] = max(weights.get(key, 0.0), round(min(1.0, weight), 4))

        for key, (times, surface) in self._titles.find(words).items():
            note(self._titles.names[key], "title", _OTHER_TITLE + _AGAIN * (times - 1), key)
            draft.alias(key, surface)
        for name, times in find_names(words, stop_words(language)).items():
            note(name, "name", _NAME + _AGAIN * (times - 1))
        overlapped = _Overlaps(weights)
        for phrase, weight in keyphrases(f"{title}. {text}" if title else text, language):
            if concept_key(phrase) not in overlapped:
                note(phrase, "phrase", weight)
        return {key: weight for key, weight in weights.items() if key}


class _Overlaps:
    """Tells the phrases that are parts of names, "dice" of "demon dice", or run into one, "carlo method"."""

    def __init__(self, names: Iterable[str]) -> None:
        self._parts: set[str] = set()
        self._first: set[str] = set()
        self._last: set[str] = set()
        for words in (name.split() for name in names):
            if len(words) > 1:
                self._first.add(words[0])
                self._last.add(words[-1])
            self._parts.update(
                " ".join(words[start:end])
                for start in range(len(words))
                for end in range(start + 1, len(words) + 1)
                if end - start < len(words)
            )

    def __contains__(self, phrase: str) -> bool:
        words = phrase.split()
        if phrase in self._parts:
            return True
        return len(words) > 1 and (words[0] in self._last or words[-1] in self._first)


def prose(text: str) -> str:
    """A Markdown text without code blocks, addresses and markup; headings are sentences, wrapped lines are joined."""
    text = _HEADING.sub(r"\1.\n", _CODE.sub("\n", text))
    return _WRAPPED.sub(" ", _MARKUP.sub(" ", text))


def _strongest(weights: dict[str, float]) -> tuple[Mention, ...]:
    ordered = sorted(weights.items(), key=lambda entry: (-entry[1], entry[0]))[:MAX_CHUNK_CONCEPTS]
    return tuple(Mention(key, weight, rank) for rank, (key, weight) in enumerate(ordered))


def _references(
    found: Sequence[Sequence[Mention]], own: str | None, depicts: Sequence[Sequence[Mention]]
) -> tuple[Mention, ...]:
    """An item's own concepts: its title, what its pictures show, and what its passages name most."""
    best: dict[str, float] = {}
    total: dict[str, float] = {}
    for mentions in found:
        for mention in mentions:
            best[mention.key] = max(best.get(mention.key, 0.0), mention.weight)
            total[mention.key] = total.get(mention.key, 0.0) + mention.weight
    if own is not None:
        best[own] = total[own] = _OWN_TITLE
    shown = {mention.key for mentions in depicts for mention in mentions}
    ordered = sorted(best, key=lambda key: (key != own, key not in shown, -total[key], key))
    kept = ordered[: max(MAX_REFERENCES, len(shown) + (own is not None))]
    return tuple(Mention(key, best[key], rank) for rank, key in enumerate(kept))
