"""What kind of question a query is: a table of cues, read top to bottom, first match wins. Pure data and one function.

The cues read the query in lower case, without query operators. A form of words that settles the type (how do I, vs,
what does ... mean) stands above mere vocabulary (error, crash), and what no cue knows is exploratory.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

QuestionType = Literal["procedural", "factual", "troubleshooting", "comparative", "definitional", "exploratory"]
QUESTION_TYPES: Final[tuple[QuestionType, ...]] = get_args(QuestionType)


@dataclass(frozen=True, slots=True)
class Cue:
    """Forms of words that give a question's type away, with an example of them."""

    name: str
    question_type: QuestionType
    example: str
    pattern: re.Pattern[str]


def _cue(name: str, question_type: QuestionType, example: str, *forms: str) -> Cue:
    return Cue(name, question_type, example, re.compile("|".join(f"(?:{form})" for form in forms)))


def _words(text: str) -> str:
    """Any of the words, whole."""
    return rf"\b(?:{'|'.join(text.split())})\b"


_SOMEONE: Final = _words("i we you one someone somebody people they")
_IS: Final = r"(?:'s| is| are| was| were)"
_WORKS: Final = (
    r"(?:stor(?:y|ies)|tales?|books?|novels?|films?|movies?|songs?|poems?|poetry|paintings?|pictures?|photos?"
    r"|photographs?|images?|scenes?|passages?|entries|notes|essays?|articles?|works?|pieces?|music|recordings?"
    r"|documents?|anything|something|everything)"
)
_TOPICS: Final = (
    r"(?:themes?|motifs?|influences?|role|roles|impact|effects?|ideas|examples|depictions?|portrayals?"
    r"|representations?|uses)"
)
_FUNCTIONS: Final = _words(
    "work start boot open turn load connect print rise respond charge run play save close exist fit set dry stay "
    "switch show appear find recognise recognize"
)
_MEASURES: Final = _words(
    "many much long old far often tall big large deep fast heavy high wide hot cold late early thick strong loud few"
)
_ATTRIBUTES: Final = _words(
    "year date day time colour color size age number name key city country place kind type instrument material version "
    "port temperature"
)
_PROPERTIES: Final = _words(
    "name names number date year title author capital price length weight height address population birthplace "
    "composer director"
)
_TASKS: Final = (
    r"(?:install|configur|setting up|set up|build|creat|mak|replac|chang|updat|upgrad|clean|tun|mount|connect|enabl"
    r"|disabl|remov|adjust|calibrat|convert|export|import|reset|restor|repair|prepar|assembl|appl|migrat|deploy|back up"
    r"|backing up|register|print|bind|stretch|prim|sharpen)(?:e|ing|y|ying|ting|ning)?"
)

CUES: Final[tuple[Cue, ...]] = (
    _cue(
        "how do I",
        "procedural",
        "How can I mount a print?",
        rf"\bhow (?:do|does|can|could|should|would|might|must|may) {_SOMEONE}(?! (?:differ|compare))",
        r"\bhow (?:best |not )?to\b",
    ),
    _cue(
        "between two",
        "comparative",
        "oil versus acrylic",
        r"\bvs\b|\bversus\b|\bpros and cons\b|\bin common\b|\bdiffers?\b",
        r"\bdifferen(?:ce|ces|t) (?:between|from|than)\b",
        r"\bcompar(?:e|es|ed|ing|ison|isons)\b",
        r"\b(?:dis)?advantages?\b.*\bover\b",
        r"\bsimilarit(?:y|ies) (?:between|of)\b|\bcontrasts? (?:between|with)\b",
        r"\b(?:better|worse|rather|other) than\b",
        r"\bprefer(?:able)?\b.*\bto\b|\bdistinguish(?:es)?\b.*\bfrom\b",
    ),
    _cue(
        "which of the two",
        "comparative",
        "Is tempera harder than oil?",
        rf"^{_words('which who what is are was were does do did should would can could')}.*"
        r"(?:\b(?:more|less|fewer) \w+(?: \w+)? than\b|\b\w{2,}er than\b)",
        r"^(?:which|who) (?:is|are|was|were|one)\b.*\b(?:better|worse|best|more|less|\w{3,}er)\b.*\bor\b",
        r"^(?:should|shall|would) (?:i|we|you|one)\b.*\bor\b(?! not\b)",
    ),
    _cue(
        "looking around",
        "exploratory",
        "paintings of the sea at night",
        rf"^(?:(?:show|find|give|get) me )?(?:some |all |any |more |other |the |my )?{_WORKS} (?:\w+ )?"
        r"(?:about|on|of|with|where|in which|that|who|whose|from|by|like|for|set|featuring|concerning|similar)\b",
        r"\btell (?:me|us) (?:more )?about\b|\b(?:overview|survey|history|introduction) (?:of|to)\b",
        rf"^(?:the )?(?:\w+ )?{_TOPICS} (?:of|for|in|on|about|from)\b",
        r"^what are (?:some|the (?:\w+ )?(?:themes|ideas|ways|trends|motifs|influences))\b",
        r"^what (?:do|does|did|has|have|can|could|might) (?:we|you|my|our|the)\b.*"
        rf"{_words('know say said tell learn written suggest think')}",
        r"^what (?:can|could) be (?:learned|learnt|said|known)\b|\bin what ways?\b",
        r"^(?:explore|discuss|describe|recommend|suggest)\b",
    ),
    _cue(
        "what it means",
        "definitional",
        "What is meant by sprezzatura?",
        r"^define\b|^(?:the )?(?:definition|meaning) of\b|\bwhat (?:is|was) (?:the )?(?:definition|meaning) of\b",
        r"\bwhat (?:do|does|did)\b.*\b(?:mean|means|meant|stand for)\b|\bwhat (?:is|was) meant by\b",
        r"\b(?:explain|clarify) (?:to me )?(?:the )?(?:term|concept|notion|word|meaning|idea)\b",
        r"\b(?:means|meaning|definition)$",
    ),
    _cue(
        "steps",
        "procedural",
        "steps to open the archive",
        rf"{_words('steps procedure instructions instruction recipe tutorial guide method checklist directions')}"
        r" (?:to|for|on|of|in)\b|\bstep[- ]by[- ]step\b",
        r"\bwhat (?:is|are|'s) the (?:\w+ )?ways? (?:to|of)\b|\bways? to \w+",
        r"\b(?:is|are) there (?:a|any|an?\ \w+) ways? (?:to|of)\b",
        r"\bwhat (?:should|must|do|shall) (?:i|we|you|one) (?:need to |have to )?do (?:to|before|after|in order|so)\b",
        r"\bwhat do (?:i|we|you) need (?:to|for|in order)\b|\b(?:show|teach|tell) (?:me|us) how\b",
        r"^how (?:is|are)\b.*"
        r"\b(?:made|built|installed|mounted|cleaned|fitted|assembled|prepared|set up|configured|replaced)\b",
    ),
    _cue(
        "something is wrong",
        "troubleshooting",
        "the lamp keeps flickering",
        r"\berrors?\b(?! (?:bars?|rates?|margins?)\b)|\bexception\b|\btraceback\b|\bunable to\b",
        r"\bfail(?:s|ed|ing|ure|ures)? (?:to|on|with|at|when|after|in|during)\b",
        rf"{_words('build login start boot upload import backup test connection update install installation sync')}"
        r" fail(?:s|ed|ure)?\b",
        r"\bcrash(?:es|ed|ing)?\b|\bbroken\b|\bnot work(?:ing)?\b|\bstopped work",
        rf"\b(?:doesn't|does not|don't|won't|didn't|will not)\b.*{_FUNCTIONS}",
        r"\b(?:refused|denied|timed out|times out|segfault|deadlock|corrupt(?:ed)?|unreachable|unresponsive)\b",
        r"\b(?:stuck|jammed|jams|freezes|frozen|hangs|flickers?|flickering|leaks|leaking|rattles?|rattling|misfires?)\b",
        r"\boverheat(?:s|ing)?\b|\btroubleshoot\w*\b|\bdebug(?:ging)?\b|\bkeeps? (?:on )?\w+ing\b",
        r"\bno longer\b.*\b(?:work|start|open|respond|turn)",
        r"\bwhat(?:'s| is| could be| might be| am i doing| went| did i do| have i done) wrong\b",
        r"\bproblems? with (?:my|the|our)\b|\b(?:warning|red|error|fault) (?:light|message|lamp)\b",
        r"\b(?:is|are|goes|come|comes|came|stays?) (?:\w+ )?(?:blank|dead|missing|garbled)\b",
        r"^(?:i|we) (?:can't|cannot|could not|couldn't)\b|^(?:cannot|can't)\b",
        r"^no (?:sound|signal|power|picture|display|output|response|image)\b",
        r"^why (?:do|does|did|is|are|has|have|was|were) (?:my|our)\b",
        r"^why (?:won't|doesn't|don't|isn't|aren't|can't|can i not)\b",
    ),
    _cue(
        "asks for a fact",
        "factual",
        "how deep is the harbour",
        rf"^{_words('who whom whose when where which')}|\bhow {_MEASURES}",
        r"\b(?:in|at|on|from|by|to|for|of) (?:which|what|whom|whose)\b",
        rf"^what {_ATTRIBUTES}",
        rf"^(?:the )?(?:\w+ )?{_PROPERTIES} (?:of|for)\b",
    ),
    _cue(
        "what is the X of Y",
        "factual",
        "What is the capacity of the tank?",
        rf"^what{_IS} {_words('the his her its their my our your')}.*"
        rf"{_words('of in for on at to by from between used called needed required allowed recommended')}",
    ),
    _cue(
        "what is X",
        "definitional",
        "What is a fugue?",
        rf"^what{_IS} (?:(?:an?|the) )?(?:[\w'.-]+ ){{0,3}}[\w'.-]+$",
    ),
    _cue(
        "by hand",
        "procedural",
        "replace the ribbon of the typewriter",
        rf"^{_TASKS} (?:(?:an?|the|my|your|up|new|from|\w+ing|\w+s)\b"
        rf"|\w+ {_words('on to in with from for using without by after before')})",
    ),
    _cue(
        "yes or no",
        "factual",
        "Did the mill burn down?",
        rf"^{_words('is are was were did does do has have had can could will would may must')} (?!you\b)\w+",
        rf"^what(?:{_IS}| did| does| do| happened| happens| caused)\b",
    ),
)


def question_type(normalized: str) -> tuple[QuestionType, str]:
    """The type of a query in lower case, and the name of the cue that gave it ("" where none did)."""
    text = normalized.strip(" ?!.,;")
    for cue in CUES:
        if cue.pattern.search(text):
            return cue.question_type, cue.name
    return "exploratory", ""
