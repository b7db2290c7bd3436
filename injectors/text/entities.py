"""Entities: the spans of a text that the task may depend on, and that user noise must not change.

Protected are ids, numbers, dates and amounts in every script's digits, e-mail addresses, URLs, quotations
of any length, code, what is to be passed on word for word, proper nouns, words that stand beside `folder`,
`file` or `called`, technical terms (snake_case, camelCase, acronyms, paths), the names and enumerated values
of the declared tools, and the small words that decide what a request means (negations, number words, days
and months).

Every scan is linear in the text: tokens are found by one plain character class, and judged one at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, overload

from crosswind.injectors.conversation import ToolList, ToolSchema
from crosswind.injectors.text.commands import find_commands
from crosswind.injectors.text.quotations import REMEMBERED, find_literals, find_plain_names
from crosswind.injectors.text.sentences import LONGEST_PIECE, REMEMBERED_PIECES, cut

Span = tuple[int, int]

LONGEST_TOKEN = 64
"""Characters of the longest token that is cached."""

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff00-\uff0f"
"""Scripts written without spaces: each of their characters is a token of its own."""

_UNSPACED_LETTER = re.compile(rf"[{UNSPACED}]")
_TOKEN = re.compile(rf"[^\s{UNSPACED}]+|[{UNSPACED}]")
_EDGES = ".,;:!?¿¡()[]{}<>\"'“”‘’«»„…،؛؟。、！，：；？（）「」"
_LETTERS = re.compile(r"[^\W\d_]+")
_TECHNICAL = re.compile(r"_|@|://|\\|\w/\w|\w\.\w|^[#$€£¥₹@]|[^\W\d_A-Z][A-Z]|^www\.", re.ASCII)

_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e)\b")
_OPENING = re.compile(r"(?:^|(?<=[.!?]\s)|(?<=\n)|(?<=escription: ))\w(?![A-Z])")

MEANING_WORDS = frozenset(
    """
    no not never none nothing neither nor without except unless only but instead don't doesn't didn't
    won't can't cannot isn't wasn't aren't zero one two three four five six seven eight nine ten eleven
    twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty
    seventy eighty ninety hundred thousand million billion dozen half third quarter double twice once
    first second fourth fifth last next monday tuesday wednesday thursday friday saturday sunday today
    tomorrow yesterday tonight noon midnight january february march april may june july august september
    october november december all any both each every more less least most before after until since
    """.split()
)
"""Small words that decide what a request means: never changed, and never the result of a typo."""

OPENERS = frozenset(
    """
    a about actually after again all also an and any anyway are as at because before but by can cancel
    change check could did do does each either every exchange find for from get give good great hello
    help here hey hi how however i if in instead is it it's its just let like look make many may maybe
    might my need next no not now of oh ok okay on once one or order our out please return show since so
    some sorry sure take tell thank thanks that that's the their them then there these they this those
    to track up update use was we well were what what's when where where's which while who whose why
    will with would yes you your yours
    able any are got had has i'd i'll i'm i've kindly leave let's mind must nothing perhaps rather right
    should somebody someone something still tell there's though until very want what's who's won't
    add analyse analyze arrange ask book build buy calculate choose compare compute convert create delete
    describe determine display download estimate explain extract fetch fill generate identify list locate make
    move obtain open organise organize pay pick place plan play prepare provide purchase recommend remove rent
    repeat replace reserve retrieve run schedule search select send set solve sort start stop submit suggest
    summarise summarize transfer translate turn understand verify write
    aber bitte danke dann das die du es gibt gut guten hallo heute ich ist kann kannst können könnte könnten
    könntest mache machen mein meine mir möchte nein nun sehr sie sind und was welche welcher welches wann wie
    wir wo würde würden würdest zeig zeige
    ahora buenas buenos como cómo cuál cuáles cuándo cuánto cuánta cuántos cuántas dame dime dónde el ella en
    es esta está este gracias hay hola la las lo los me mi muestra muéstrame necesito para perdón pero podría
    podrías por porque puede puedes pueden qué quiero querría quisiera sabes si sí también tengo un una y yo
    ai alors avez bien bonjour bonsoir ce cela combien comment dans de des dis dites donne donnez elle est et
    faites il ils j'ai j'aimerais je le les ma merci mes mon montre montrez nous où oui peux peux-tu pouvez
    pouvez-vous pour pourriez pourriez-vous pourrais pourrais-tu quand que quel quelle quelles quels qui quoi
    salut tu un une veuillez voici voilà vous
    accept activate adjust advise allow announce append apply approve assign attach authenticate avoid
    begin bring clarify collect combine compress configure confirm connect correct deactivate decrease
    define deploy disable discard disconnect divide eat edit enable encrypt enroll ensure enter erase
    establish evaluate examine execute expand explore extend figure follow forward gather go grab greet
    handle hire import include increase inform insert inspect install invite join keep launch learn link
    maintain merge modify multiply navigate notify perform populate predict prevent proceed process
    produce quote read rebook reduce refer refill refresh reject remind rename reply reschedule resend
    resolve respond restart restore resume retweet revert review reword rewrite scan see separate share
    shut simulate specify store subtract sum suspend swap switch terminate throw transcribe try undo
    unlock unsubscribe upgrade upload validate visit wake warn withdraw abre achète activa active
    actualise actualiza affiche affichez agrega aide ajoute ajoutez ajusta aktiviere aktualisiere annule
    annulez antworte apaga appelle apporte apunta arrête augmente ausgeben averigua avisa ayúdame añada
    añade baisse baja berechne bestelle bestätige bezahle borra buche buchen busca busque búscame
    calcula calcule cambia cambie cancela cancele changez cherche cherchez choisis cierra commande
    compara compra compre comprueba compte confirma confirme consulta convertis convierte copia copie
    corrige coupe crea cree crée créez desactiva dimme dis-moi dites-moi donne-moi donnez-moi dresse
    drucke déplace dígame efface elimina enciende encuentra encuéntrame enregistre enséñame entferne
    envoie envoie-moi envoyez envoyez-moi envía envíale envíame envíe erinnere erkläre ersetze erstelle
    escribe explique explícame exporte exportiere fais fasse ferme finde finden füge führe genera gib
    guarda génère haga haz hazme hol hole indica indiquez indícame indíqueme informa informiere instala
    installe installiere kaufe kopiere lade lance lee leg lege lies lis lista liste llama lösche löschen
    mach manda marca markiere melde merke mets mettez mira modifica modifie modifiez montre-moi
    montrez-moi mueve muéstreme mándame nenne nimm note obtiens obtén ordena organiza ouvre ouvrez paga
    paie passe pide plane planifie pon ponga ponme prends programa programme propose prépare prüfe
    prüfen publica publie pídeme quita rappelle recherche rechne recomienda recomiéndame recuérdame
    redacta regarde registra remplace renomme renouvelle renueva repite repère reserva reserviere
    reservieren resérvame retire revisa revise ruf rufe récupère réserve réserve-moi réservez résume sag
    sauvegarde schalte schau schick schicke schicken schließe schreib schreibe schreiben sende senden
    senk setz setze speichere spiel spiele starte stell stelle stellen storniere sube such suche suchen
    sugiere supprime supprimez teile traduce traduis trag trage transfiere transfère trouve trouve-moi
    trouvez trouvez-moi utilise verbinde vergleiche verifica verlängere verschicke verschiebe vire
    vérifie vérifiez wechsle wiederhole zahle zeigen zähle ändere ändern écris écrivez éteins öffne
    öffnen überprüfe übersetze überweise
    """.split()
)
"""Words that are capitalised only because a sentence begins with them. Another capitalised word may be a
name."""

_CAPITALISED = frozenset(
    {"i", "i'm", "i'd", "i'll", "i've", "sie", "ihnen", "ihre", "ihrem", "ihren", "ihrer"}
)
"""Pronouns that have a capital anywhere."""


def find_protected_spans(
    text: str, tools: Iterable[ToolSchema] = (), clean: str | None = None
) -> tuple[Span, ...]:
    """The spans [start, end) of the entities, in order, without overlaps. The names that `tools` declare are
    entities, too. `clean` is the text before other noise: what is a quotation there still is one here."""
    spans = _find_spans(text, ToolList.of(tools).vocabulary)
    if clean is None or clean is text:
        return spans
    kept = [span for span in _find_again(clean, text) if not _covered(span, spans)]
    return tuple(_merge([*spans, *kept])) if kept else spans


class ProtectedSpans(Sequence[Span]):
    """What `find_protected_spans` finds, found when it is asked for first: most noise looks at none."""

    __slots__ = ("_clean", "_found", "_text", "_tools")

    def __init__(self, text: str, tools: Iterable[ToolSchema], clean: str) -> None:
        self._text, self._tools, self._clean = text, tools, clean
        self._found: tuple[Span, ...] | None = None

    def _find(self) -> tuple[Span, ...]:
        if self._found is None:
            self._found = find_protected_spans(self._text, self._tools, self._clean)
        return self._found

    def __iter__(self) -> Iterator[Span]:
        return iter(self._find())

    def __len__(self) -> int:
        return len(self._find())

    @overload
    def __getitem__(self, at: int) -> Span: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Span, ...]: ...
    def __getitem__(self, at: int | slice) -> Any:
        return self._find()[at]

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._find(),)


def _find_spans(text: str, vocabulary: frozenset[str]) -> tuple[Span, ...]:
    return _short_spans(text, vocabulary) if len(text) <= REMEMBERED else _spans(text, vocabulary)


def _find_again(clean: str, text: str) -> Iterator[Span]:
    """Where the literals of the clean text stand in the noisy one."""
    at = 0
    for one in find_literals(clean):
        literal = clean[one.start : one.end]
        found = text.find(literal, at)
        if found >= 0:
            yield found, found + len(literal)
            at = found + 1


def _covered(span: Span, spans: tuple[Span, ...]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in spans)


def _spans(text: str, vocabulary: frozenset[str]) -> tuple[Span, ...]:
    spans = [(one.start, one.end) for one in find_literals(text)]
    spans += find_plain_names(text)
    spans += find_commands(text)
    at = 0
    for piece in cut(text):
        # A sentence begins behind each cut, so that the words before it don't matter.
        judge = _judged_piece if len(piece) <= LONGEST_PIECE else _judge_piece
        spans += [(start + at, end + at) for start, end in judge(piece, vocabulary)]
        at += len(piece) + 1
    return tuple(_merge(spans))


def _judge_piece(text: str, vocabulary: frozenset[str]) -> tuple[Span, ...]:
    """The entities that are tokens, of a text that begins with a sentence."""
    spans: list[Span] = []
    lines = "\n" in text
    starts_sentence = True
    for match in _TOKEN.finditer(text):
        token = match[0]
        judge = _judged if len(token) <= LONGEST_TOKEN else _judge
        before, length, lowered, begins_as_one, is_one, ends_sentence = judge(token)
        if length:
            if (begins_as_one if starts_sentence else is_one) or lowered in vocabulary:
                start = match.start() + before
                spans.append((start, start + length))
            starts_sentence = False
        if ends_sentence or (lines and "\n" in text[match.end() : match.end() + 2]):
            starts_sentence = True
    return tuple(spans)


_judged_piece = lru_cache(REMEMBERED_PIECES)(_judge_piece)


class _Judged(NamedTuple):
    """A token without the punctuation around it, and whether it is an entity."""

    before: int
    length: int
    lowered: str
    begins_as_one: bool
    """Where it begins a sentence."""
    is_one: bool
    ends_sentence: bool


def _judge(token: str) -> _Judged:
    bare = token.strip(_EDGES)
    ends = token[-1] in ".!?:…。！？"
    if not bare:
        return _Judged(0, 0, "", False, False, ends)
    entity = _is_entity(bare, True), _is_entity(bare, False)
    return _Judged(token.index(bare), len(bare), bare.lower(), *entity, ends)


_judged = lru_cache(8192)(_judge)
"""Cached: most words occur again and again."""


_short_spans = lru_cache(256)(_spans)
"""Cached: every rule that may act on a text asks for its spans, and the guard after each rule."""


def find_lost(before: str, after: str, tools: Iterable[ToolSchema] = ()) -> str | None:
    """The first entity of `before` that `after` doesn't contain in the same order; None if all are there."""
    return next(iter(find_all_lost(before, after, tools)), None)


def find_all_lost(before: str, after: str, tools: Iterable[ToolSchema]) -> tuple[str, ...]:
    """The entities of `before` that `after` doesn't contain in the same order."""
    if find_additions(before, after) is not None:
        return ()
    find = _short_find_all_lost if max(len(before), len(after)) <= REMEMBERED else _find_all_lost
    return find(before, after, ToolList.of(tools).vocabulary)


def find_additions(before: str, after: str) -> tuple[str, str] | None:
    """What stands in front of a text that was kept whole, and behind it, white space between them; None: it
    wasn't kept so. No word of a text that was kept is lost."""
    at = after.find(before)
    end = at + len(before)
    if at < 0 or not before:
        return None
    apart = at == 0 or after[at - 1].isspace() or before[0].isspace()
    if not apart or not (end == len(after) or after[end].isspace() or before[-1].isspace()):
        return None
    return after[:at], after[end:]


def _find_all_lost(before: str, after: str, vocabulary: frozenset[str]) -> tuple[str, ...]:
    at = 0
    lost: list[str] = []
    for start, end in _find_spans(before, vocabulary):
        entity, length = before[start:end], end - start
        found = after.find(entity, at)
        if found >= 0:
            stop = found + length
            # Most entities have no letter beside them, and are asked no more.
            if (found > 0 and after[found - 1].isalnum()) or after[stop : stop + 1].isalnum():
                found = find_whole(after, entity, at)
        if found < 0:
            lost.append(entity)
        else:
            at = found + length
    return tuple(lost)


_short_find_all_lost = lru_cache(64)(_find_all_lost)
"""Cached: the guard asks for what one operator has lost, and for what all of them have."""


def lower_openings(text: str) -> str:
    """The text with its sentences' first letters in lower case: a description's first verb is no name. What
    "e.g." and "i.e." abbreviate are no names either. Its length stays."""
    return _OPENING.sub(lambda match: _lower(match.group()), _ABBREVIATION.sub("for", text))


def _lower(text: str) -> str:
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


def find_numbers(text: str) -> frozenset[str]:
    """The tokens with a digit of any script: each could be taken for an id, a date or an amount."""
    return _short_find_numbers(text) if len(text) <= REMEMBERED else _find_numbers(text)


def find_added_numbers(before: str, after: str) -> frozenset[str]:
    """The tokens with a digit of `after` that `before` doesn't have."""
    added = find_additions(before, after)
    words = after.split() if added is None else [*added[0].split(), *added[1].split()]
    found = _find_piece_numbers(" ".join(set(words).difference(before.split())))
    return found - find_numbers(before) if found else found


def _find_numbers(text: str) -> frozenset[str]:
    found = [
        _short_piece_numbers(piece) if len(piece) <= LONGEST_PIECE else _find_piece_numbers(piece)
        for piece in cut(text)
    ]
    return found[0].union(*found[1:])


def _find_piece_numbers(text: str) -> frozenset[str]:
    if text.isascii():
        # No script without spaces, and no numeral that is a letter.
        tokens = [token for token in text.split() if not token.isalpha()]
    else:
        tokens = _TOKEN.findall(_NO_NUMERAL.sub(" ", text))
    return frozenset(filter(None, map(_read_numeral, tokens)))


_NO_NUMERAL = re.compile(
    "[什一拾参]|万一|老百姓|百科|百货|零头|八卦|十分(?!钟|後|前)|千万(?=[别不要])|再三|四处|四周|三心二意|乱七八糟"
)
"""Ideographs that are numerals by themselves, in words that name no number. "一" is mostly an article."""


def _read_numeral(token: str) -> str:
    return _short_numeral(token) if len(token) <= LONGEST_TOKEN else _numeral(token)


def _numeral(token: str) -> str:
    """The token without the punctuation around it if it has a digit, else an empty string."""
    bare = token.strip(_EDGES)
    return bare if _has_digit(bare) else ""


_short_numeral = lru_cache(8192)(_numeral)
_short_find_numbers = lru_cache(256)(_find_numbers)
_short_piece_numbers = lru_cache(REMEMBERED_PIECES)(_find_piece_numbers)


def _is_entity(token: str, starts_sentence: bool) -> bool:
    lowered = token.lower()
    if lowered in MEANING_WORDS or lowered.replace("’", "'") in MEANING_WORDS:
        return True
    if _has_digit(token) or _TECHNICAL.search(token):
        return True
    words = _LETTERS.findall(token)
    if not words:
        return False
    acronym = any(len(word) > 1 and word.isupper() for word in words)
    return acronym or _is_name(words, lowered, starts_sentence)


def _is_name(words: list[str], lowered: str, starts_sentence: bool) -> bool:
    if not any(word[0].isupper() for word in words):
        return False
    if lowered.replace("’", "'") in _CAPITALISED:
        return False
    return not (starts_sentence and lowered in OPENERS)


def _has_digit(token: str) -> bool:
    # An ideograph such as 一 counts as numeric: it is a number word, and stays.
    return (
        any(character.isnumeric() for character in token)
        if not token.isalpha() or not token.isascii()
        else False
    )


def find_whole(text: str, entity: str, at: int) -> int:
    """Where the entity stands from `at` on, but not as a part of a longer word; -1 if nowhere."""
    first, last = entity[0], entity[-1]
    begins_in_word, ends_in_word = first.isalnum(), last.isalnum()
    while (found := text.find(entity, at)) >= 0:
        end = found + len(entity)
        before = begins_in_word and found > 0 and _continues(text[found - 1], first)
        if not before and not (ends_in_word and end < len(text) and _continues(text[end], last)):
            return found
        at = found + 1
    return -1


def _continues(letter: str, other: str) -> bool:
    """Whether the letter, beside another letter or digit, stands in one word with it."""
    return letter.isalnum() and not _UNSPACED_LETTER.search(letter + other)


def _merge(spans: list[Span]) -> Iterator[Span]:
    start = end = -1
    for begin, stop in sorted(spans):
        if begin > end:
            if end > start:
                yield start, end
            start, end = begin, stop
        else:
            end = max(end, stop)
    if end > start:
        yield start, end
