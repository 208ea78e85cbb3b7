"""Words with which texts try to instruct the LLM that reads them, by language."""

# ruff: noqa: RUF001  words of many languages

from __future__ import annotations

import re

_FILLERS = (
    r"(?:(?:please|kindly|now|first|then|so|and|but|also|just|simply|immediately|hereby|"
    r"i (?:want|need|order|command|ask) you to|"
    r"you (?:must|should|will|shall|have to|are to|need to)(?: now)?)[ ,]+){0,4}"
)
_BEGINS = (
    r"(?:^|[.!?\n>\]|#*;{}~`=-] *|"
    r"\b(?:important|notes?|urgent|warning|system|assistant|user|developer|admin|override|"
    r"instructions?|attention|p\.?s\.?|reviewer|judge|grader|evaluator|ai|llm)[ *]*[:,—–-]+[ *\n]*)"
)
_NOT_CONDITIONAL = r"(?![^.!?\n]{0,60}\b(?:if|when|unless|where|once)\b)"

_OVERRIDE = (
    r"(?:ignore|disregard|forget|override|overrule)[ ]+"
    r"(?:(?:(?:all|any|every|the|your|these|those|of|other|and|or|my)[ ]+){0,4}"
    r"(?:previous|prior|above|preceding|earlier|foregoing|original|system|evaluation|judging|"
    r"grading)(?: \w+){0,2} (?:instructions?|prompts?|rules|directions|guidelines|criteria|commands|orders)"
    r"|(?:(?:all|any|every|the|your|these|those|of)[ ]+){0,3}"
    r"(?:instructions?|rules|directions|guidelines|criteria)(?: \w+){0,2} (?:above|before|so far|you (?:were|have been|got))"
    r"|(?:everything|anything|all)(?: that)?(?: \w+){0,3} (?:above|before|so far)"
    r"|your (?:system )?(?:instructions|rules|guidelines|prompt|criteria))"
)
_VERDICT = (
    r"(?:rate|grade|score|judge|evaluate|consider|treat|report|classify)[ ]+"
    r"(?:this|the|all|every|each|my|any)(?: of the)?(?: \w+)? ?(?:answers?|responses?|runs?|stages?|chunks?|"
    r"contexts?|statements?|claims?|outputs?|rewrites?)(?: (?:below|above|here))?"
    r"(?: (?:as|to be|with|at|is|are|being))? (?:a )?(?:fully |completely |entirely |totally |perfectly )?"
    r"(?:correct|supported|faithful|faultless|fault-free|flawless|perfect|grounded|relevant|ok\b|okay|zero|0\b|100\b|no faults?)"
)
_ALL_GRADES = (
    r"(?:all|every|each)(?: of the| the| your)?(?: \w+)? "
    r"(?:confidences?|confidence (?:fields?|values?|scores?)|"
    r"fault (?:scores?|fields?|types?|confidences?|probabilit\w+)|grades?|faults?)"
)
_EXTREME = r"(?:0|zero|100)\b(?!\.\d)"
_GRADES = (
    r"(?:set|give|assign|put|make|keep|return|output|report|answer|rate|use)[ ]+"
    r"(?:(?:(?:a|the|value|number|score|of)[ ]+){0,4}"
    + _EXTREME
    + r" (?:(?:for|in|to|as|on) )?"
    + _ALL_GRADES
    + r"|(?:(?:the|value|of|for)[ ]+){0,3}"
    + _ALL_GRADES
    + r"(?: (?:to|as|at|with|is|are|be|=))? ?:? ?(?:exactly )?"
    + _EXTREME
    + ")"
)
_ADDRESS = (
    r"(?:notes?|message|instructions?|memo|notice|order)[ ]+(?:to|for)[ ]+(?:the |all |any |every )?"
    r"(?:ai|llm|llms|language models?|automated (?:judges?|graders?|evaluators?|reviewers?)|"
    r"(?:ai|llm) (?:judges?|graders?|evaluators?|models?|systems?|reviewers?|assistants?)|evaluat(?:or|ion) models?)[ ]*[:,—–-]"
)
_NEW_ROLE = (
    r"(?:you are now|from now on,? you(?: are|'re)|act as|pretend (?:to be|you are))"
    r"(?: an?| the| my| in)(?: \w+){0,2} "
    r"(?:lenient|unrestricted|jailbroken|dan\b|developer mode|(?:judge|grader|evaluator|assistant)\b)"
)
_NEW_ORDERS = r"(?:new|updated|revised) (?:system )?(?:instructions?|prompt|orders)(?: \w+){0,4} ?:"

_ENGLISH = (
    _BEGINS
    + _FILLERS
    + "(?:"
    + "|".join((_OVERRIDE + _NOT_CONDITIONAL, _VERDICT, _GRADES, _ADDRESS, _NEW_ROLE, _NEW_ORDERS))
    + ")"
)

_OTHERS = (
    # German
    (
        r"(?:ignorier\w*|vergiss|vergessen sie|missachte\w*)[ ][^.!?\n]{0,30}"
        r"(?:bisherig|vorherig|obig|früher|vorangegangen|vorstehend|alle |deine )\w*[^.!?\n]{0,20}"
        r"(?:anweisung|instruktion|vorgabe|regel|befehl)"
    ),
    # French
    (
        r"(?:ignore[rz]?|oublie[rz]?|ne t\w+ (?:pas|aucun) compte)[ ][^.!?\n]{0,30}"
        r"(?:instructions?|consignes?|règles?|directives?)[^.!?\n]{0,10}"
        r"(?:précédent|antérieur|ci-dessus|qui précède|reçu)"
    ),
    # Spanish, Portuguese, Italian
    (
        r"(?:ignor[ae]\w*|olvid[ae]\w*|omite|desconsider[ae]\w*|esqueça|dimentic\w+)[ ][^.!?\n]{0,30}"
        r"(?:instruc\w+|istruzion\w+|indicacion\w+|instruç\w+|reglas?|regras?|regole)[^.!?\n]{0,10}"
        r"(?:anterior|previ|precedent|de arriba|acima|sopra)"
    ),
    # Dutch
    (
        r"(?:negeer|vergeet)[ ][^.!?\n]{0,20}(?:vorige|voorgaande|eerdere|bovenstaande|alle )"
        r"[^.!?\n]{0,20}(?:instructies?|regels|opdrachten)"
    ),
    # Polish
    (
        r"(?:z?ignoruj|zapomnij|pomiń)[ ][^.!?\n]{0,30}(?:poprzedni|wcześniejs|powyżs|wszystki)\w*"
        r"[^.!?\n]{0,20}(?:instrukc|polece|zasad|reguł)"
    ),
    # Russian
    (
        r"(?:игнорируй|проигнорируй|забудь|не учитывай)(?:те)?[ ][^.!?\n]{0,30}"
        r"(?:предыдущ|прежн|выше|все )\w*[^.!?\n]{0,20}(?:инструкц|указани|правил|команд)"
    ),
    # Turkish
    (
        r"(?:önceki|yukarıdaki|tüm)[ ][^.!?\n]{0,20}(?:talimat|kural|yönerge)\w*[^.!?\n]{0,15}"
        r"(?:yok say|unut|görmezden gel|dikkate alma)"
    ),
    # Chinese
    (
        r"(?:忽略|无视|無視|忽視|忘记|忘記)[^。！？\n]{0,10}(?:之前|以上|上述|先前|前面|所有|一切)"
        r"[^。！？\n]{0,8}(?:指令|指示|提示|规则|規則|命令|说明)"
    ),
    # Japanese
    (
        r"(?:これまで|以前|上記|前|すべて)の[^。！？\n]{0,8}(?:指示|命令|ルール|プロンプト)[^。！？\n]{0,6}"
        r"(?:無視|忘れ)"
    ),
    # Korean
    r"(?:이전|위의|앞의|모든)[^.!?\n]{0,10}(?:지시|명령|지침|규칙)[^.!?\n]{0,6}(?:무시하|잊)",
    # Arabic
    (
        r"(?:تجاهل|انس|تجاهلي|تجاهلوا)[ ][^.!؟\n]{0,20}(?:التعليمات|الأوامر|القواعد)[^.!؟\n]{0,10}"
        r"(?:السابقة|أعلاه)"
    ),
    # Hindi
    (
        r"(?:पिछले|पहले के|उपरोक्त|सभी)[ ][^।!?\n]{0,15}(?:निर्देश|आदेश|नियम)\S*[^।!?\n]{0,15}"
        r"(?:अनदेखा|अनदेखी|नज़रअंदाज़|भूल|उपेक्षा)"
    ),
)

INSTRUCTION = re.compile("|".join(f"(?:{part})" for part in (_ENGLISH, *_OTHERS)), re.MULTILINE)
"""An instruction to an LLM, in case-folded text; in English where a sentence or line begins."""

OF_ROLES = re.compile(
    r"(?:<\|(?:im_start|im_end|system|assistant|user|end|eot_id|start_header_id|endoftext)\|>|"
    r"</s>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>|^#{2,} ?(?:system|assistant)\b|"
    r"^(?:system|assistant|developer) ?:)"
    r"(?=(?:.|\n){0,160}?\b(?:ignor\w+|disregard\w*|forget|grad(?:e|es|ing)|judge|evaluat\w+|verdict|confidences?|"
    r"faults?|faultless|instructions|supported|rate|score)\b)",
    re.MULTILINE,
)
"""A mark with which chat templates begin or end a turn, before words on grading, in such text."""
