"""Proper names, acronyms and abbreviations in running text, by their capitals. Pure."""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

_WORD: Final = re.compile(r"[^\W_](?:[\w'’+#-]*[\w+#])?")
_POSSESSIVE: Final = re.compile(r"['’]s?$")


def listed(words: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(words.split())


# Words that may stand inside a name but neither begin nor end it.
CONNECTORS: Final = listed("of the de la le du des von van der den di da del al ibn for")
# Capitalised in English wherever they stand, and about nothing in particular.
_CALENDAR: Final = listed(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december i"""
)
_ROMAN: Final = re.compile(r"[IVXLC]+")
# Headings of reports and abstracts: capitalised, and in every document.
_SECTION_WORDS: Final = listed(
    """abstract aim aims appendix background chapter conclusion conclusions contents contributions design discussion
    figure findings funding interpretation introduction measurements methods objective objectives outcome outcomes
    participants patients purpose rationale results section setting significance summary table"""
)
# Listed as stop words, but they begin names: New York, Old Norse, First World War.
_NAME_OPENERS: Final = listed("new old great first second third one two three")
_MAX_ACRONYM: Final = 6
_PLURAL: Final = re.compile(r"(.*[A-Z])s")
_SENTENCE_END: Final = re.compile(r"[.!?:;|•\n\"“”„»«(\[]")
_NAME_GAP: Final = (" ", ". ")
MAX_NAME_WORDS: Final = 6
# A run of capitals this long is a line set in capitals, not a name.
_SHOUTED_WORDS: Final = 4
_ABBREVIATED: Final = re.compile(r"\(([A-Z][A-Za-z0-9-]{1,9})\)")


@dataclass(frozen=True, slots=True)
class Word:
    """A word where it stands. `opens` is True at the start of a sentence, line or bracket; `gap` stands before."""

    text: str
    folded: str
    gap: str
    opens: bool

    @property
    def capital(self) -> bool:
        """True when the first letter is a capital."""
        return self.text[0].isupper()


def words_of(text: str) -> list[Word]:
    """The words of a text, without possessive endings."""
    words: list[Word] = []
    end = 0
    for match in _WORD.finditer(text):
        gap = text[end : match.start()]
        word = _POSSESSIVE.sub("", match.group()) or match.group()
        opens = not words or _SENTENCE_END.search(gap) is not None
        words.append(Word(word, word.casefold(), gap, opens))
        end = match.start() + len(word)
    return words


def is_acronym(word: str) -> bool:
    """DNA, MP3, apoE, GraphQL: a capital after the first letter; no Roman number, no long word in capitals."""
    inner = any(character.isupper() for character in word[1:])
    if not inner or not 2 <= len(word) <= 20 or _ROMAN.fullmatch(word) is not None:
        return False
    return len(word) <= _MAX_ACRONYM or not word.isupper() or not word.isalpha()


def find_names(words: list[Word], stop_words: Collection[str]) -> Counter[str]:
    """How often each name occurs.

    A single capitalised word counts where it stands inside a sentence; at the start of one it might be any word,
    so it counts only together with such a place.
    """
    names: Counter[str] = Counter()
    doubtful: Counter[str] = Counter()
    for run in _runs(words, stop_words):
        while run and run[0].folded in CONNECTORS:
            run = run[1:]
        while run and run[-1].folded in CONNECTORS:
            run = run[:-1]
        if len(run) > 1 and run[0].folded in _SECTION_WORDS and run[1].text.isdigit():
            continue
        if not run or len(run) > MAX_NAME_WORDS or _is_shouted(run):
            continue
        if len(run) > 1:
            names[" ".join(word.text for word in run)] += 1
            continue
        name = _PLURAL.sub(r"\1", run[0].text)
        if name.casefold() in _SECTION_WORDS or name.casefold() in stop_words:
            continue
        if is_acronym(name):
            names[name] += 1
        elif _is_name_alone(name):
            (doubtful if run[0].opens else names)[name] += 1
    for name, times in doubtful.items():
        if name in names:
            names[name] += times
    return names


def _is_name_alone(word: str) -> bool:
    return len(word) > 2 and word.casefold() not in _CALENDAR and _ROMAN.fullmatch(word) is None


def _is_shouted(run: list[Word]) -> bool:
    return sum(1 for word in run if word.text.isupper() and len(word.text) > 1) >= _SHOUTED_WORDS


def _runs(words: list[Word], stop_words: Collection[str]) -> Iterator[list[Word]]:
    """Runs of capitalised words with connectors and short numbers in them; stop words end a run."""
    run: list[Word] = []
    for word in words:
        joined = word.gap == " " or (word.gap == ". " and bool(run) and len(run[-1].text) == 1)
        stop = word.folded in stop_words and word.folded not in CONNECTORS | _NAME_OPENERS
        if run and (stop or not joined or not _continues(word, run[-1])):
            yield run
            run = []
        if (run or word.capital or is_acronym(word.text)) and not stop:
            run.append(word)
    if run:
        yield run


def _continues(word: Word, before: Word) -> bool:
    if word.capital or word.folded in CONNECTORS or is_acronym(word.text):
        return True
    return word.text.isdigit() and 0 < int(word.text) < 10_000 and not is_acronym(before.text)


def find_abbreviations(text: str) -> dict[str, str]:
    """Abbreviation -> full name, for "diffusion tensor imaging (DTI)": the initials must agree."""
    found: dict[str, str] = {}
    for match in _ABBREVIATED.finditer(text):
        short = match.group(1)
        letters = [letter.casefold() for letter in short if letter.isalpha()]
        if short.endswith("s") and len(letters) > 2:
            letters.pop()
        before = _WORD.findall(text[max(0, match.start() - 120) : match.start()])[-len(letters) :]
        if len(letters) > 1 and [word[0].casefold() for word in before] == letters:
            found.setdefault(short, " ".join(before))
    return found
