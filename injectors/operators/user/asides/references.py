"""Whether a phrase refers to something before it, so that no message can begin with it."""

from __future__ import annotations

import re

from crosswind.injectors.text.languages import Language


def _compile(begin: str, anywhere: str) -> re.Pattern[str]:
    """A pattern for words that a phrase begins with, and for those that it has anywhere."""
    return re.compile(rf"(?ix)^\W*(?:{begin})\b | \b(?:{anywhere})\b")


_REFERRING = {
    Language.EN: _compile(
        r"""oh | and | also | but | plus | while | then | by\ the\ way | btw | besides | one\ more | another
        | speaking | (?:completely\ )?unrelated | random | off | side | that | maybe | or | so |
        come\ to\ think | which | meanwhile | (?:just\ )?out\ of\ curiosity | on\ top | ps | before |
        since | as | next | once | after | no | fine | anyway | thanks? | sorry\ if | hope\ that | okay
        | i\ (?:think|appreciate)""",
        r"""also | as\ well | too | either | while | same | this | that | these | those | regardless |
        afterwards | above | in\ addition | on\ top | on\ the\ side | else | instead | way | here |
        it | (?<!hi\ )(?<!hey\ )(?<!hello\ )there | them | again""",
    ),
    Language.DE: _compile(
        r"""und | ach | oh | außerdem | übrigens | apropos | nebenbei | mal | ganz | was\ anderes | auch |
        dann | noch | aber | bei\ der | wenn | ansonsten | sonst | ok | so | da | dazu | oder | am | im
        | jetzt | danke | hoffentlich | das\ wäre | mehr""",
        r"""auch | noch | außerdem | zudem | gleich | dabei | dazu | nebenbei | bei\ der | dies\w* | das |
        dafür | davon | dasselbe | dieselbe | eben | hier | übrigens | zusätzlich""",
    ),
    Language.FR: _compile(
        r"""et | au\ fait | aussi | sinon | tant | au\ passage | rien | petite | ah | oh | puis |
        d['’]ailleurs | à\ propos | en\ plus | mais | ou | dans\ la | pendant | merci | j['’]espère\ que
        | je\ n['’]ai\ besoin""",
        r"""aussi | en\ plus | au\ passage | également | même | ça | cela | cette | ce | ces | sinon | ici |
        au\ fait""",
    ),
    Language.ES: _compile(
        r"""y | ah | por\ cierto | además | también | de\ paso | oye | pero | ya | a\ todo | otra | que |
        cambiando | o | mientras | aprovechando | entre | gracias | espero\ que
        | con\ eso | no\ necesito""",
        r"""también | además | de\ paso | mism[oa]s? | es[oa]s? | est[oae]s? | otra | aquí | tampoco |
        encima""",
    ),
    Language.ZH: re.compile(
        r"^[（(]?(?:对了|另外|还有|顺|话说|再|也|然后|那|说|题外|突然|又)|[也顺这还另同]|那个|先谢|希望|暂时|别的"
    ),
    Language.JA: re.compile(
        r"^[（(]?(?:あと|それ|ついで|そういえば|ところで|ちなみに|余談|話|全然|関係|で、|また|さらに)"
        r"|ついで|それ|この|これ|同じ|よろしく|以上|ほかに|伝わって"
    ),
    Language.AR: re.compile(
        r"^\W*(?:و|على فكرة|خارج|بالمناسبة|ثم|أو)|أيض|كذلك|كمان|هذا|هذه|هذي|ذلك|بالمرة|نفس|شكرا"
        r"|أرجو أن|هذا كل|لا أحتاج"
    ),
}


def refers_back(phrase: str, language: Language) -> bool:
    """Whether it goes on from something, or speaks of something that the message has named before."""
    return _REFERRING[language].search(phrase) is not None
