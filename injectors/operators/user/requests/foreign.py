"""Requests in other languages than English: the forms whose infinitive can be read off surely."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.word_lists import make_pairs, make_words


def read_sentence(sentence: str, language: Language) -> str | None:
    """What the sentence asks for, in the form that the language's phrase packs carry; None: unsure."""
    reader = _READERS.get(language)
    asked = reader(sentence.strip()) if reader else None
    return asked if asked and 3 < len(asked) <= _LONGEST else None


_LONGEST = 200
_GREETING_DE = r"(?:(?:hallo|hi|hey|guten (?:tag|morgen|abend)|moin|okay|ok|und|dann|danke)[,!]? )*"
_ASKED_DE = re.compile(
    rf"{_GREETING_DE}(?:(?:kannst|könntest|würdest) du(?: bitte| mal)*|(?:können|könnten"
    rf"|würden) sie(?: bitte| mal)*"
    r"|ich (?:möchte|will|muss|würde gern(?:e)?|möchte gern(?:e)?)(?: bitte)?|bitte) (?P<asked>[^,;:?!]+?)"
    r"(?:,? (?:bitte|danke(?: \w+)?|geht das|ja|okay|ok|lg))*[ .?!]*",
    re.IGNORECASE,
)
_INFINITIVE_DE = re.compile(r"\b[a-zäöüß]{2,}(?:en|ern|eln|tun)$")
_NO_INFINITIVE_DE = frozenset(
    """
    den einen meinen deinen ihren seinen unseren keinen diesen jeden welchen allen morgen gestern zwischen
    wegen gegen neben können wollen müssen sollen dürfen werden haben sieben zehn gehen
    """.split()
)


def _read_german(sentence: str) -> str | None:
    match = _ASKED_DE.fullmatch(sentence)
    if match is None:
        return _read_german_command(sentence)
    asked = match["asked"].strip().replace(" bitte ", " ").removeprefix("bitte ")
    last = asked.rsplit(" ", 1)[-1]
    plain = " und " not in asked and " dass " not in asked and len(asked.split()) > 1
    if plain and _INFINITIVE_DE.fullmatch(last) and last not in _NO_INFINITIVE_DE:
        return asked
    return _read_german_command(sentence)


_COMMAND_DE = re.compile(
    rf"{_GREETING_DE}(?:bitte )?(?P<verb>[a-zäöüß]+)(?P<sie>(?<=en) sie)?(?: bitte| mal"
    rf"| doch)* (?P<rest>[^,;:?!]+?)"
    r"(?:,? (?:bitte|danke))?[ .!]*",
    re.IGNORECASE,
)
_COMMANDS_DE = {
    **{f"{stem}{end}": f"{stem}en" for end in ("", "e", "en") for stem in (
        "buch", "such", "zeig", "stell", "schick", "lösch", "prüf", "setz", "bestell", "reservier",
        "stornier",
        "kauf", "hol", "bring", "mach", "spiel", "speicher", "sag", "zahl", "teil", "leg", "pack",
        "dreh", "frag", "schalt", "sperr", "ruf", "kündig",
    )},
    **{f"{stem}{end}": f"{stem}en" for end in ("e", "en") for stem in (
        "find", "send", "start", "überweis", "berechn", "öffn", "schreib", "erstell", "vergleich",
        "verschieb", "übersetz", "überprüf", "such", "plan", "lad", "schließ", "trag", "füg", "nenn",
        "schalt", "notier", "aktivier", "kopier",
    )},
    **{"nimm": "nehmen", "lies": "lesen", "gib": "geben", "ändere": "ändern", "ändern": "ändern"},
}  # fmt: skip
"""Imperatives to their infinitives."""
_PARTICLES_DE = make_words(
    """
    ab an auf aus ein mit nach um vor weg zu zurück hinzu durch fest bereit fertig frei heraus herunter hoch
    raus runter still weiter zusammen
    """
)


def _read_german_command(sentence: str) -> str | None:
    match = _COMMAND_DE.fullmatch(sentence)
    verb = _read_german_verb(match) if match else None
    if (
        match is None
        or verb is None
        or re.search(r" (?:und|oder|dass|ob|wenn|wie|was|wo|wann) ", match["rest"])
    ):
        return None
    if match["verb"].lower().endswith("en") and match["sie"] is None:
        return None
    whole = match["rest"].replace(" bitte ", " ")
    rest, _, last = whole.rpartition(" ")
    if last in _PARTICLES_DE:
        return f"{rest} {last}{verb}" if rest else None
    return f"{whole} {verb}"


def _read_german_verb(match: re.Match[str]) -> str | None:
    """The infinitive of a command: before `Sie` it is the verb's own form."""
    verb = match["verb"].lower()
    known = _COMMANDS_DE.get(verb)
    formal = match["sie"] is not None and match["sie"].endswith("Sie") and verb not in _NO_COMMANDS_DE
    return known or (verb if formal else None)


_NO_COMMANDS_DE = _NO_INFINITIVE_DE | frozenset(
    """
    sind seien waren hatten hätten wären würden könnten möchten sollten dürften müssten kommen entschuldigen
    verzeihen wissen kennen warten
    """.split()
)
"""Forms before `Sie` that order nothing, or nothing that a frame carries."""


_ASKED_ES = re.compile(
    r"(?:(?:hola|buenos días|buenas tardes|buenas|ok|vale|y|entonces)[,!.]? )*[¿¡]?"
    r"(?:(?:me )?(?:puedes|puede|podrías|podría)(?: usted)?|quiero|quisiera|quería|necesito|me gustaría"
    r"|querría|deseo)"
    r"(?:,? por favor,?)? (?P<asked>[a-zñáéíóú]+(?:ar|er|ir|ír)(?:me|nos)?(?: [^¿?¡!;:]+)?)"
    r"(?:,? por favor)?[ .?!]*",
    re.IGNORECASE,
)


_COMMAND = re.compile(
    r"(?:(?:hola|ok|vale|por favor|bonjour|salut|s['’]il (?:te|vous) pla[iî]t"
    r"|d['’]accord)[,!.]? )*(?P<verb>[a-zàâçéèêëîïôûùáíóúñ-]+) (?P<rest>[^¿?!;:]{3,160}?)"
    r"(?:,? (?:por favor|gracias|s['’]il (?:te|vous) pla[iî]t|merci|stp|svp))?[ .!]*",
    re.IGNORECASE,
)
_COMMANDS_ES = {
    **{f"{stem}a": f"{stem}ar" for stem in (
        "busc", "reserv", "cancel", "cambi", "compr", "orden", "apag", "borr", "elimin", "confirm",
        "consult", "cre",
        "activ", "desactiv", "llam", "pag", "revis", "calcul", "compar", "guard", "agreg", "actualiz",
        "apunt", "renombr", "instal", "descarg", "program", "anot", "list",
    )},
    **make_pairs(
        """
        pasa:pasar manda:mandar elige:elegir comprueba:comprobar imprime:imprimir comparte:compartir
        busque:buscar escriba:escribir envíe:enviar reserve:reservar cancele:cancelar borre:borrar abra:abrir
        mándame:mandarme cómprame:comprarme envía:enviar envíame:enviarme muestra:mostrar muéstrame:mostrarme
        dame:darme dime:decirme búscame:buscarme resérvame:reservarme encuentra:encontrar pon:poner
        encuéntrame:encontrarme abre:abrir lee:leer escribe:escribir añade:añadir transfiere:transferir
        traduce:traducir enciende:encender cierra:cerrar sube:subir mueve:mover pide:pedir
        recomiéndame:recomendarme ponme:ponerme haz:hacer
        """
    ),
}  # fmt: skip
"""Imperatives to their infinitives."""


def _orders_more(rest: str) -> bool:
    """Whether a second command follows, which would have to change its form: `y dime cuántas son`."""
    followed = [
        two.partition("-")[0].strip(",.") for one, two in pairwise(rest.split()) if one in ("y", "et")
    ]
    known = any(two in _COMMANDS_ES or two in _COMMANDS_FR for two in followed)
    return known or _ORDERS_MORE.search(rest) is not None or _SAYS_MORE.search(rest) is not None


_SAYS_MORE = re.compile(
    r", (?:mis?|nuestr\w+|tengo|tiene|soy|es|estoy|está|necesito|quiero|porque|mon|ma|mes|notre|nos|je|il"
    r"|elle|on|car)\b|, [cj]['’]"
)
"""A clause behind the command, which no question takes in: `, mi carné es el 2100`."""
_ORDERS_MORE = re.compile(r"\b(?:y|et) (?:\w*[áéí]\w*(?:me|nos|l[aeo]s?)|\w+-(?:moi|nous|l[ea]s?))\b")
"""A command with its object behind it: `y avísame`, `et rembourse-moi`."""


def _read_spanish(sentence: str) -> str | None:
    match = _ASKED_ES.fullmatch(sentence)
    if match is None and (command := _COMMAND.fullmatch(sentence)) is not None:
        verb = _COMMANDS_ES.get(command["verb"].lower())
        return f"{verb} {command['rest']}" if verb and not _orders_more(command["rest"]) else None
    if match is None or re.match(r"(?:hola, |y )?[¿¡]?me (?:pued|podr)", sentence, re.IGNORECASE):
        return None
    asked = re.sub(r",? por favor\Z", "", match["asked"].strip(" .,"))
    verb = asked.split(" ", 1)[0]
    return (
        asked
        if " " in asked and verb.lower() not in ("saber", "ser", "estar", "ir", "tener", "ver")
        else None
    )


_ASKED_FR = re.compile(
    r"(?:(?:bonjour|salut|bonsoir|ok|et|alors|merci)[,!]? )*"
    r"(?:est-ce que (?:tu peux|vous pouvez|tu pourrais|vous pourriez)|(?:peux|pourrais)-tu|(?:pouvez"
    r"|pourriez)-vous"
    r"|tu peux|vous pouvez|je (?:veux|voudrais|souhaite|souhaiterais|dois)|j['’]aimerais)"
    r"(?:,? s['’]il (?:te|vous) pla[iî]t,?| bien)? (?P<asked>(?:me |m['’]|nous )?[a-zàâçéèêëîïôûù]+(?:er"
    r"|ir|re|oir) [^?!;:]+?)"
    r"(?:,? s['’]il (?:te|vous) pla[iî]t|,? svp|,? stp)?[ .?!]*",
    re.IGNORECASE,
)


_COMMANDS_FR = {
    **{f"{stem}{end}": f"{stem}er" for end in ("e", "ez") for stem in (
        "cherch", "trouv", "réserv", "montr", "affich", "annul", "ajout", "chang", "supprim", "calcul",
        "compar",
        "donn", "list", "modifi", "not", "pass", "propos", "confirm", "command", "programm", "vérifi",
        "transfér",
        "envoy", "renomm", "copi", "ferm", "télécharg", "recherch", "regard", "indiqu", "plac", "recommand",
    )},
    **{"envoie": "envoyer", "achète": "acheter", "achetez": "acheter", "ouvre": "ouvrir",
    "ouvrez": "ouvrir"},
    **{"mets": "mettre", "mettez": "mettre", "crée": "créer", "créez": "créer", "lis": "lire",
    "lisez": "lire"},
    **{"écris": "écrire", "écrivez": "écrire", "dis": "dire", "dites": "dire", "prends": "prendre",
    "fais": "faire"},
    **{"appelle": "appeler", "appelez": "appeler", "éteignez": "éteindre", "allume": "allumer"},
    **{"transfère": "transférer", "déplace": "déplacer", "déplacez": "déplacer", "éteins": "éteindre"},
}  # fmt: skip
"""Imperatives to their infinitives."""


def _read_french_verb(word: str) -> str | None:
    """`montre-moi` as `me montrer`."""
    verb, _, to = word.partition("-")
    infinitive = _COMMANDS_FR.get(verb)
    if infinitive is None or to not in ("", "moi"):
        return None
    elided = "m'" if infinitive[0] in "aeiouéè" else "me "
    return f"{elided}{infinitive}" if to else infinitive


def _read_french(sentence: str) -> str | None:
    match = _ASKED_FR.fullmatch(sentence)
    if match is None:
        command = _COMMAND.fullmatch(sentence)
        verb = _read_french_verb(command["verb"].lower()) if command else None
        sure = command is not None and not _orders_more(command["rest"])
        return f"{verb} {command['rest']}" if sure and command and verb else None
    asked = match["asked"].strip(" .,")
    verb = re.sub(r"^(?:me |m['’]|nous )", "", asked).split(" ", 1)[0].lower()
    return asked if verb not in ("savoir", "être", "avoir", "aller", "voir", "faire", "notre") else None


_ASKED_ZH = re.compile(
    r"(?:(?:你好|您好|嗨|哈喽|那么|那|然后|另外|好的)[，,！!。]?)*"
    r"(?:(?:请问)?(?:能不能|可不可以|能否|可以|能)(?:请)?(?:您|你)?|(?:你|您)(?:能不能|可不可以|能否|可以|能)"
    r"|请(?:您|你)?|(?=帮|替我)|麻烦(?:您|你)?|劳烦您?|我想要?|我要|我需要|我希望)(?:先|再)?"
    r"(?P<for>帮忙|帮我们?|替我|给我)?(?:一下)?"
    r"(?P<asked>[^，。？！?!；;：:\n]{2,80}?)(?:[，,](?:谢谢|可以|好)[吗你您]{0,2})?(?:吗|吧|呢|么"
    r"|谢谢)?[。？！?!～~ ]*"
)
_COMMAND_ZH = re.compile(
    r"(?:(?:你好|您好|好的|那么|那|然后"
    r"|另外)[，,！!。]?)*(?P<asked>(?![我你您这那])[^，。？！?!；;：:\n]{4,80}?)(?:，?谢谢|吧)?[。！!～~ ]*"
)
_ZH_VERBS = re.compile(
    r"(?:查询|查看|查找|查一下|查|预订|预定|订购|订|买|购买|取消|修改|更改|更新|改|退|换|发送|发|转账|转"
    r"|打开|关闭|关掉|设置"
    r"|设定|调到|调|创建|新建|添加|加入|删除|搜索|搜|找|推荐|列出|显示|计算|算|翻译|安排|预约|提醒|播放|写"
    r"|读取|读|下载|上传|整理"
    r"|给(?=[^我你您]{1,12}(?:转|发|打|寄|订|买))|统计|比较|确认|申请|开通|注销|续订|缴纳|支付|联系|通知|导出|生成|解释|总结|记录|把|将)"
)
_ZH_VAGUE = frozenset({"查一下", "看一下", "帮忙", "问一下"})


def _read_chinese(sentence: str) -> str | None:
    match = _ASKED_ZH.fullmatch(sentence) or _COMMAND_ZH.fullmatch(sentence)
    if match is None:
        return None
    asked = match["asked"].strip()
    if not _ZH_VERBS.match(asked) or asked in _ZH_VAGUE or len(asked) < 3 or asked.endswith(("了", "过")):
        return None
    return None if _ZH_SAYS_MORE.search(asked) else asked


_ZH_SAYS_MORE = re.compile(r",\s*[我他她它]")
"""A clause behind the request, behind a comma of another script."""


_JA_ENDS = (
    (
        r"して(?:ください|下さい|欲しい(?:です)?|ほしい(?:です)?|もらえますか|もらえませんか"
        r"|いただけますか|いただけませんか|くれる|くれますか|くれ|頂けますか)?",
        "する",
    ),
    (r"したい(?:です|のですが|んですが|んだけど)?", "する"),
    (r"(?<=[一-龠を])お願い(?:します|いたします|できますか|したいです)?", "する"),
    *(
        (
            rf"{te}(?:ください|下さい|欲しい(?:です)?|ほしい(?:です)?|もらえますか|いただけますか|くれる"
            rf"|くれますか|頂けますか)?",
            plain,
        )
        for te, plain in (
            ("教えて", "教える"),
            ("調べて", "調べる"),
            ("見せて", "見せる"),
            ("送って", "送る"),
            ("探して", "探す"),
            ("変えて", "変える"),
            ("取って", "取る"),
            ("消して", "消す"),
            ("つけて", "つける"),
            ("止めて", "止める"),
            ("開いて", "開く"),
            ("閉じて", "閉じる"),
            ("作って", "作る"),
            ("書いて", "書く"),
            ("入れて", "入れる"),
            ("読んで", "読む"),
            ("流して", "流す"),
            ("出して", "出す"),
            ("伝えて", "伝える"),
            ("移して", "移す"),
            ("かけて", "かける"),
            ("下げて", "下げる"),
            ("上げて", "上げる"),
            ("付けて", "付ける"),
            ("届けて", "届ける"),
            ("並べて", "並べる"),
        )
    ),
    *(
        (rf"{wish}(?:です|のですが|んですが|んだけど)?", plain)
        for wish, plain in (
            ("取りたい", "取る"),
            ("買いたい", "買う"),
            ("送りたい", "送る"),
            ("見たい", "見る"),
            ("変えたい", "変える"),
            ("借りたい", "借りる"),
        )
    ),
    (r"知りたい(?:です|のですが|んですが)?", "調べる"),
)
_JA_FORMS = tuple(
    (re.compile(rf"(?P<asked>[^。？！?!、]{{2,80}}?){end}[。？！?!ね ]*"), plain) for end, plain in _JA_ENDS
)
_JA_BEFORE = re.compile(
    r"^(?:(?:こんにちは|すみません|すいません|ねえ|では|じゃあ|次に|あと|それと|お手数ですが"
    r"|申し訳ありませんが)[、。！ ]*)+"
)


def _read_japanese(sentence: str) -> str | None:
    body = _JA_BEFORE.sub("", sentence)
    for form, plain in _JA_FORMS:
        match = form.fullmatch(body)
        if match is None:
            continue
        asked = match["asked"]
        # A verb in its continuing form would have to change: `話して` is `話す`, not `話する`.
        if plain == "する" and not re.search(r"(?:[一-龠ァ-ヶー]|[一-龠ァ-ヶー]を|おすすめ)\Z", asked):
            continue
        if plain == "する" and re.search(r"[をにへがで][一-龠]\Z", asked):
            continue
        return asked + plain
    return None


_ASKED_AR = re.compile(
    r"(?:(?:مرحبا|مرحبًا|أهلا|السلام عليكم|من فضلك|لو سمحت)[،,!.]? )*"
    r"(?:هل (?:يمكنك|بإمكانك|تستطيع)|أريد(?: منك)?|أود|أرغب في|أحتاج إلى|أحتاج|اريد|ممكن|الرجاء|يرجى"
    r"|أرجو)(?: من فضلك)? "
    r"(?P<asked>[^،؛؟.!:]{4,120}?)(?:،? (?:من فضلك|لو سمحت|رجاء|شكرا))?[ ؟.!]*"
)
_AR_NOUNS = re.compile(
    r"(?:حجز|إلغاء|الغاء|تغيير|تعديل|معرفة|إرسال|ارسال|البحث|بحث|إضافة|حذف|شراء|تحويل|طلب|فتح|إغلاق|تشغيل"
    r"|إيقاف|عرض|حساب"
    r"|ترجمة|تحديث|التحقق|تأكيد|إنشاء|كتابة|تحميل|استرجاع|إرجاع|تجديد|دفع|تحديد|ضبط|جدولة|تذكيري|إيجاد"
    r"|مساعدتي|إعطائي|إخباري) "
)


_COMMAND_AR = re.compile(
    r"(?:(?:مرحبا|من فضلك|لو سمحت|حسنا)[،,!.]? )*(?:(?:أريد|اريد|أود|هل يمكنك"
    r"|ممكن) أن )?(?P<verb>[\u0621-\u0652]+) "
    r"(?P<rest>(?:[^،؛؟.!:]|\.(?=\w)){3,120}?)(?:،? (?:من فضلك|لو سمحت|رجاء|شكرا))?[ ؟.!]*"
)
_COMMANDS_AR = {
    **dict.fromkeys(("احجز", "أحجز", "تحجز"), "حجز"),
    **dict.fromkeys(("ألغ", "ألغي", "الغي", "تلغي"), "إلغاء"),
    **dict.fromkeys(("غير", "غيّر", "أغير", "تغير"), "تغيير"),
    **dict.fromkeys(("أرسل", "ارسل", "ترسل"), "إرسال"),
    **dict.fromkeys(("ابحث", "أبحث", "تبحث"), "البحث"),
    **dict.fromkeys(("اعرض", "أعرض", "تعرض"), "عرض"),
    **dict.fromkeys(("أضف", "اضف", "أضيف", "تضيف"), "إضافة"),
    **dict.fromkeys(("احذف", "أحذف", "تحذف"), "حذف"),
    **dict.fromkeys(("افتح", "أفتح", "تفتح"), "فتح"),
    **dict.fromkeys(("أغلق", "اغلق", "تغلق"), "إغلاق"),
    **dict.fromkeys(("شغل", "شغّل", "تشغل"), "تشغيل"),
    **dict.fromkeys(("أنشئ", "انشئ", "تنشئ"), "إنشاء"),
    **dict.fromkeys(("اكتب", "أكتب", "تكتب"), "كتابة"),
    **dict.fromkeys(("اشتر", "أشتري", "تشتري"), "شراء"),
    **dict.fromkeys(("أعرف", "اعرف"), "معرفة"),
    **dict.fromkeys(("احسب", "أحسب", "تحسب"), "حساب"),
    **dict.fromkeys(("حول", "حوّل", "أحول", "تحول"), "تحويل"),
    **dict.fromkeys(("أطفئ", "اطفئ", "تطفئ"), "إطفاء"),
    **dict.fromkeys(("اضبط", "أضبط", "تضبط"), "ضبط"),
    **dict.fromkeys(("اتصل", "أتصل", "تتصل"), "الاتصال"),
    **dict.fromkeys(("أخبرني", "اخبرني", "تخبرني"), "إخباري"),
    **dict.fromkeys(("انقل", "أنقل", "تنقل"), "نقل"),
    **dict.fromkeys(("تحقق", "أتحقق", "تتحقق"), "التحقق"),
}
"""Verbs to their verbal nouns."""


def _read_arabic(sentence: str) -> str | None:
    match = _ASKED_AR.fullmatch(sentence)
    if match is not None and _AR_NOUNS.match(match["asked"]):
        return match["asked"].strip()
    command = _COMMAND_AR.fullmatch(sentence)
    noun = _COMMANDS_AR.get(command["verb"]) if command else None
    if command is None or noun is None or _UNSURE_AR.match(command["rest"]):
        return None
    # Behind the noun, what the verb governed loses the ending of an object.
    return f"{noun} {_OBJECT_AR.sub('', command['rest'], count=1)}"


_OBJECT_AR = re.compile(r"(?<=\w)(?:\u064b\u0627|\u0627\u064b)(?= |\Z)")
"""The ending of an indefinite object."""
_UNSURE_AR = re.compile(r"(?!ال)\S{2,}\u0627(?: |\Z)")
"""A word that may have that ending without its sign, or may not."""


_READERS: dict[Language, Callable[[str], str | None]] = {
    Language.DE: _read_german,
    Language.ES: _read_spanish,
    Language.FR: _read_french,
    Language.ZH: _read_chinese,
    Language.JA: _read_japanese,
    Language.AR: _read_arabic,
}
