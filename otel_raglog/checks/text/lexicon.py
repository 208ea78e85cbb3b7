"""The closed word lists of the checks, in one place; all folded to lower case."""

from __future__ import annotations

from collections.abc import Mapping


def _listed(words: str) -> list[str]:
    """Return the words of a block of text: word lists read better without quotes."""
    return words.split()


STOPWORDS = frozenset(
    _listed("""
    a about above after again all also am an and any are as at be because been before
    being below between both but by can could did do does doing done down during each
    either else ever few for from further get gets got had has have having he her here
    hers him his how i if in into is it its itself just let lets may me might mine more
    most much must my no nor not now of off on once one only onto or other our ours out
    over own per please same shall she should so some such tell than that the their
    theirs them then there these they this those through to too under until up upon us
    very was we were what when where whether which while who whom whose why will with
    within would you your yours yes ok okay etc via there's that's it's i'm don't
    doesn't didn't isn't aren't wasn't weren't can't couldn't won't wouldn't shouldn't
    hasn't haven't hadn't what's who's where's how's i've we've you're they're i'd i'll
    we'll let's called given know want need like
    take takes taken took come comes came coming go goes going went make makes made happen happens
    thing things long often far many lot
    """)
)
"""Words that carry no content of their own, light verbs included."""

QUESTION_WORDS = frozenset(
    _listed("""
    what when where which who whom whose why how
    """)
)

AUXILIARIES = frozenset(
    _listed("""
    is are was were am do does did can could has have had will would should may might
    must
    """)
)
"""Verbs that open a yes-or-no question."""

NEGATIONS = frozenset(
    _listed("""
    not no never none nobody nothing neither nor without except excluding cannot can't
    don't doesn't didn't isn't aren't wasn't weren't won't wouldn't shouldn't hasn't
    haven't hadn't couldn't mustn't nowhere unless
    """)
)

RELATIVE_TIMES = frozenset(
    _listed("""
    ago before after earlier later previous prior last next following then since past
    """)
)
"""Words that place a time against another one: a follow-up question's "the year before"."""

QUALIFIERS = frozenset(
    _listed("""
    first last latest earliest newest oldest youngest current currently former previous
    next original originally highest lowest largest smallest biggest longest shortest
    tallest most least best worst fastest slowest only minimum maximum least before
    after since until during second third fourth fifth sixth seventh eighth ninth tenth
    today yesterday tomorrow annual annually monthly weekly daily yearly per average
    total
    """)
)
"""Words that narrow a question; losing or adding one changes what is asked."""

MONTHS: Mapping[str, int] = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march",),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}

WEEKDAYS = frozenset(
    _listed("""
    monday tuesday wednesday thursday friday saturday sunday
    """)
)

UNITS_OF_TEN: Mapping[str, int] = {
    word: value
    for value, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}

SMALL_NUMBERS: Mapping[str, int] = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}

MULTIPLIERS: Mapping[str, float] = {
    "hundred": 1e2,
    "thousand": 1e3,
    "k": 1e3,
    "million": 1e6,
    "mn": 1e6,
    "billion": 1e9,
    "bn": 1e9,
    "trillion": 1e12,
}

NAME_JOINERS = frozenset(
    _listed("""
    of de van von der den la le du del da dos bin al the and
    """)
)
"""Lower-case words that may stand inside a name."""

SENTENCE_OPENERS = frozenset(
    _listed("""
    according based however therefore thus yes no although despite additionally
    furthermore unfortunately note answer question context since overall finally hence
    similarly instead moreover generally currently please find give list describe
    explain show summarize name tell provide compare write identify employees employee
    users user customers
    """)
)
"""Words that are capitalised only because a sentence starts with them."""

GENERIC_NOUNS = frozenset(
    _listed("""
    university college school state team company government president king queen city
    church country war party company department policy section chapter article handbook
    manual guide employee manager director board committee bank hospital museum film
    movie book song band
    """)
)
"""Words that are often capitalised without being names by themselves."""

PERSON_NOUNS = frozenset(
    _listed("""
    person people man woman actor actress author singer writer president king queen
    player artist director producer composer scientist inventor founder ceo minister
    senator senators character musician band group team manager owner educator
    """)
)
PLACE_NOUNS = frozenset(
    _listed("""
    country city state place location town village continent county region street area
    building room office island river
    """)
)
TIME_NOUNS = frozenset(
    _listed("""
    year date day month century decade time period era deadline
    """)
)
COUNT_NOUNS = frozenset(
    _listed("""
    number percentage percent amount age population price cost size length height
    distance score rate fee salary limit budget
    """)
)
REASON_NOUNS = frozenset(
    _listed("""
    reason cause purpose
    """)
)
HOW_COUNTS = frozenset(
    _listed("""
    many much long old far tall often big large high deep fast
    """)
)

_RECORD = (
    r"(?:contexts?|passages?|documents?|documentation|text|information|handbook|manual|sources?|"
    r"excerpts?|snippets?|articles?|materials?|knowledge base|search results)"
)
"""What an answer calls the text that it was given."""

REFUSAL_PHRASES: tuple[str, ...] = (
    (
        r"\bi (?:do not|don't|did not|didn't) (?:know|have (?:any |enough |that |this |the |access)|"
        r"find|see any)"
    ),
    r"\bi(?:'m| am) (?:sorry|afraid|unable|not (?:sure|able|aware|certain))\b",
    (
        r"\b(?:i|we) (?:cannot|can't|could not|couldn't|can not|am unable to) "
        r"(?:answer|find|determine|provide|help|say|tell|see|confirm|locate|give)\b"
    ),
    r"\b(?:cannot|can't|can not|could not) be (?:determined|answered|found|inferred|confirmed)\b",
    r"\bno idea\b|\b(?:is|are) silent (?:about|on)\b|\bno info on (?:that|this|it)\b",
    r"\bunable to (?:answer|find|determine|provide|locate)\b",
    (
        r"\b(?:not|never) (?:explicitly |directly |clearly )?"
        r"(?:specified|mentioned|stated|specify|mention|disclosed)\b"
    ),
    (
        r"\b(?:doesn't|don't|didn't|isn't|aren't|wasn't) (?:explicitly |directly |clearly )?"
        r"(?:specify|mention|say|specified|mentioned|stated)\b"
    ),
    r"\b(?:not|aren't|isn't) (?:given|provided|available|listed|included|found|contained) "
    r"(?:in|by|from) (?:the |this |these |any |your )?(?:\w+ ){0,2}" + _RECORD + r"\b",
    _RECORD + r" (?:\w+ ){0,4}(?:does not|doesn't|do not|don't|did not|didn't) "
    r"(?:\w+ )?(?:contain|include|provide|answer|discuss|address|give|list|state|have|cover|say)\b",
    (
        r"\bno (?:relevant |such |specific |further |additional )?(?:information|mention|details?|"
        r"data|evidence|reference|answer) (?:is |was |are |were )?(?:of|about|on|in|regarding|"
        r"available|provided|given|found|for)\b"
    ),
    (
        r"\b(?:there is|there's|there are) (?:no|not enough|insufficient) (?:\w+ ){0,2}"
        r"(?:information|mention|details?|evidence|context)\b"
    ),
    r"\b(?:insufficient|not enough|lacks?) (?:information|context|data|evidence|details?)\b",
    r"^(?:unknown|n/a|not known|unanswerable|no information|no answer|none found)\b",
    r"\bplease provide (?:more|further|additional)\b",
    r"^(?:i|we) (?:have |could )?(?:found|find|see|have) (?:nothing|no \w+) (?:\w+ )?(?:about|on|regarding)\b",
    r"^(?:nothing|none) (?:in|of) (?:the |this |these |those |any )?(?:\w+ ){0,2}"
    r"(?:" + _RECORD + r"|chunks?|pages?) "
    r"(?:\w+ )?(?:says?|answers?|mentions?|states?|tells?|covers?|contains?|gives?|is about|are about)\b",
)
"""Patterns of sentences that decline to answer; matched on folded text."""

CONTEXT_HEADINGS = (
    "context",
    "contexts",
    "context information",
    "documents",
    "document",
    "passages",
    "sources",
    "excerpts",
    "snippets",
    "evidence",
    "background",
    "search results",
    "retrieved documents",
    "retrieved context",
    "knowledge",
)
"""Headings under which prompts put the retrieved chunks."""

EMBEDDING_PREFIXES: tuple[str, ...] = (
    "query:",
    "search_query:",
    "search query:",
    "question:",
    "represent this sentence for searching relevant passages:",
    "represent this query for retrieving relevant documents:",
    "represent the question for retrieving supporting documents:",
)
"""Instructions that embedding models want in front of a query."""

EMBEDDING_INSTRUCTION = r"instruct: [^\n]{0,400}\n\s*query:"
"""The two-line instruction of E5 and Qwen embedding models."""

QUESTION_OPENERS = QUESTION_WORDS | frozenset(
    _listed("""
    does did are can could should would tell explain describe compare summarize summarise please
    list give show find
    """)
)
"""Words with which no sentence of another big language begins."""

FOREIGN_SIGNS = frozenset(
    _listed("""
    ich wir ihr sind wird werden wurde haben habe hatte kann kannst darf durfen muss mussen soll
    sollen gibt kostet wie wo wer wem wen wann warum wieso welche welcher welches welchem welchen
    wieviel nicht kein keine keinen und oder auf mit fur uber nach beim zum zur vom auch nur wenn
    dass eine einen einem einer meine unsere
    nous vous ils elles sont etait peut peux dois doit doivent quel quelle quels quelles quoi quand
    pourquoi combien avec sans dans cette votre leur coute
    yo nosotros ustedes estan puede puedo pueden debe deben cual cuales quien donde cuando cuanto
    cuanta cuantos cuantas porque unos unas pero cuesta
    noi voi sono quali perche posso possono devo deve della delle degli sulla nella quanti quante
    quando posso qual quais quem quantos quantas voce pode podem pelo pela nao sao uma
    ik wij jij hij zij zijn wordt kunnen mogen moet moeten wanneer waarom welke hoeveel niet geen
    voor naar bij uit een het mijn
    jag hur varfor vilken vilka och eller inte hva hvor hvordan hvornar hvorfor ikke jeg
    sie ist sich erhalten erhalt bekommt bekommen betragt tage tagen monate monaten wochen jahre jahren
    avez semaines jours mois ans tienes tiene tienen semanas hai hanno settimane giorni mesi anni
    krijgt krijgen heeft weken tygodni
    quanto costa custa oui puis nein nerede nasil hangi icin
    gdzie kiedy dlaczego czy przez jaki jaka jakie
    """)
)
"""Folded function words of other big languages that are no words of English."""

FOREIGN_HINTS = (NAME_JOINERS - {"the", "and", "of"}) | frozenset(
    _listed("""
    ein das dem des im am aus bei nos il elle est et en au aux les un une ces se su sus mi mis
    es el los las lo que con por para esta ha hay sur par pas qui ou je tu
    che gli nel una uno cosa chi si non ed os as na em com por ao
    op te om aan ook dit dat wat hoe met deze
    att det den ett med av pa ar vad til og er kan nie jak ile dla sa
    """)
) - STOPWORDS
"""Words of other languages that stand in names, too, or are English words or short forms."""

OF_SEVERAL_LANGUAGES = frozenset(
    _listed("""
    a am an as at be by come do had has he her here him i in is it made me more no of on once one or
    over own per same so such take than to under upon us was we were will ok okay via want etc all
    also on for from
    """)
)
"""English function words that are words of another big language, too: no sign of either."""

COURTESIES = frozenset(
    _listed("""
    thanks thank thx cheers hello hi hey bye goodbye welcome great perfect excellent nice cool
    awesome wonderful lovely appreciated appreciate
    """)
)
"""Words of thanks, greetings and applause."""

COURTEOUS = COURTESIES | frozenset(
    _listed("""
    good morning afternoon evening night day everyone all everybody team there that helps helped
    helpful really lot bunch kind help answer info information understood got well fine
    """)
)
"""Words beside which nothing is asked."""
