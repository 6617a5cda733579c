"""Keyphrases by YAKE (Campos et al., Information Sciences 509, 2020) in the language that a text seems to be in."""

import re
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from library.ingest.names import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

# Languages told apart by their stop words; YAKE has lists for more, these are the ones that libraries are in.
LANGUAGES: Final = ("en", "de", "fr", "es", "it", "nl", "pt", "sv", "pl")
# YAKE takes about 10 ms for 1,000 characters, as long as a third of embedding them: the head of a passage must do.
KEYPHRASE_CHARS: Final = 400
_TOP: Final = 10
_WORDS: Final = re.compile(r"[^\W\d_]+")
_EDGE: Final = re.compile(r"^[\W_]+|[\W_]+$")
# Numbers, spans of time and what passages call themselves.
_COUNTED: Final = listed(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million clock year years
    month months week weeks day days hour hours minute minutes seconds mile miles made page pages"""
)
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MAX_PHRASE_CHARS: Final = 60
# YAKE's scores fall towards 0 for the best: 0.02 becomes a weight of 0.83, 0.1 of 0.5.
_SCORE_SCALE: Final = 10.0
# Below these a phrase is any noun of the text; single words must be better than pairs.
_LEAST_WEIGHT: Final = 0.25
_LEAST_WORD_WEIGHT: Final = 0.45


@lru_cache(maxsize=len(LANGUAGES))
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, case-folded."""
    listed = resources.files("yake") / "core" / "StopwordsList" / f"stopwords_{language}.txt"
    return frozenset(listed.read_text(encoding="utf-8").casefold().split("\n")) - {""}


def guess_language(text: str) -> str:
    """The language whose stop words make up most of a text; English when none does."""
    words = [word.casefold() for word in _WORDS.findall(text[:1500])]
    scores = {language: sum(word in stop_words(language) for word in words) for language in LANGUAGES}
    return max(LANGUAGES, key=lambda language: (scores[language], language == "en"))


@lru_cache(maxsize=len(LANGUAGES))
def _extractor(language: str) -> Any:
    from yake import KeywordExtractor

    return KeywordExtractor(lan=language, n=2, window_size=1, dedup_lim=1.0, top=2 * _TOP)


def keyphrases(text: str, language: str) -> "Sequence[tuple[str, float]]":
    """Up to 10 phrases of one or two words with weights from 0 to 1, best first; from the head of the text."""
    head = text[:KEYPHRASE_CHARS]
    if len(text) > KEYPHRASE_CHARS:
        head = head.rsplit(None, 1)[0] if len(head.split(None, 1)) > 1 else head
    if not _WORDS.search(head):
        return ()
    stops = stop_words(language)
    phrases = []
    for found, score in _extractor(language).extract_keywords(head):
        phrase = _EDGE.sub("", str(found))
        weight = 1.0 / (1.0 + _SCORE_SCALE * max(0.0, float(score)))
        least = _LEAST_WEIGHT if " " in phrase else _LEAST_WORD_WEIGHT
        if weight >= least and _is_concept(phrase, stops, language):
            phrases.append((phrase, weight))
    return phrases[:_TOP]


def _is_concept(phrase: str, stops: frozenset[str], language: str) -> bool:
    words = _WORDS.findall(phrase.casefold())
    if not words or len(phrase) > _MAX_PHRASE_CHARS or any(mark in phrase for mark in ".!?\n"):
        return False
    if len("".join(words)) < 3 and not _CJK.search(phrase):
        return False
    if _CJK.search(phrase) and len(phrase) > 12:
        return False
    if words[0] in stops or words[-1] in stops:
        return False
    return not (language == "en" and _is_no_noun(words))


def _is_no_noun(words: "Sequence[str]") -> bool:
    """English phrases that count something, or end in what someone did: "ten years", "engine stopped"."""
    return any(word in _COUNTED for word in words) or (words[-1].endswith("ed") and len(words[-1]) > 4)
