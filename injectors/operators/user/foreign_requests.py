"""Requests in other languages than English: the forms whose infinitive can be read off surely."""

from __future__ import annotations

import re
from collections.abc import Callable

from crosswind.injectors.text.languages import Language


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
    """.split()  # noqa: SIM905
)


def _read_german(sentence: str) -> str | None:
    match = _ASKED_DE.fullmatch(sentence)
    if match is None:
        return None
    asked = match["asked"].strip().replace(" bitte ", " ").removeprefix("bitte ")
    last = asked.rsplit(" ", 1)[-1]
    plain = " und " not in asked and " dass " not in asked and len(asked.split()) > 1
    return asked if plain and _INFINITIVE_DE.fullmatch(last) and last not in _NO_INFINITIVE_DE else None


_ASKED_ES = re.compile(
    r"(?:(?:hola|buenos días|buenas tardes|buenas|ok|vale|y|entonces)[,!.]? )*[¿¡]?"
    r"(?:(?:me )?(?:puedes|puede|podrías|podría)(?: usted)?|quiero|quisiera|necesito|me gustaría|querría"
    r"|deseo)"
    r"(?:,? por favor,?)? (?P<asked>[a-zñáéíóú]+(?:ar|er|ir|ír)(?:me|nos)?(?: [^¿?¡!;:]+)?)"
    r"(?:,? por favor)?[ .?!]*",
    re.IGNORECASE,
)


def _read_spanish(sentence: str) -> str | None:
    match = _ASKED_ES.fullmatch(sentence)
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


def _read_french(sentence: str) -> str | None:
    match = _ASKED_FR.fullmatch(sentence)
    if match is None:
        return None
    asked = match["asked"].strip(" .,")
    verb = re.sub(r"^(?:me |m['’]|nous )", "", asked).split(" ", 1)[0].lower()
    return asked if verb not in ("savoir", "être", "avoir", "aller", "voir", "faire", "notre") else None


_ASKED_ZH = re.compile(
    r"(?:(?:你好|您好|嗨|哈喽|那么|那|然后|另外|好的)[，,！!。]?)*"
    r"(?:(?:请问)?(?:能不能|可不可以|能否|可以|能)(?:请)?(?:您|你)?|(?:你|您)(?:能不能|可不可以|能否|可以|能)"
    r"|请(?:您|你)?|麻烦(?:您|你)?|劳烦您?|我想要?|我要|我需要|我希望)(?:先|再)?"
    r"(?P<for>帮忙|帮我们?|替我|给我)?(?:一下)?"
    r"(?P<asked>[^，。？！?!；;：:\n]{2,80}?)(?:[，,](?:谢谢|可以|好)[吗你您]{0,2})?(?:吗|吧|呢|么"
    r"|谢谢)?[。？！?!～~ ]*"
)
_ZH_VERBS = re.compile(
    r"(?:查询|查看|查找|查一下|查|预订|预定|订购|订|买|购买|取消|修改|更改|更新|改|退|换|发送|发|转账|转"
    r"|打开|关闭|关掉|设置"
    r"|设定|调到|调|创建|新建|添加|加入|删除|搜索|搜|找|推荐|列出|显示|计算|算|翻译|安排|预约|提醒|播放|写"
    r"|读取|读|下载|上传|整理"
    r"|统计|比较|确认|申请|开通|注销|续订|缴纳|支付|联系|通知|导出|生成|解释|总结|记录|把|将)"
)
_ZH_VAGUE = frozenset({"查一下", "看一下", "帮忙", "问一下"})


def _read_chinese(sentence: str) -> str | None:
    match = _ASKED_ZH.fullmatch(sentence)
    if match is None:
        return None
    asked = match["asked"].strip()
    if not _ZH_VERBS.match(asked) or asked in _ZH_VAGUE or len(asked) < 3 or asked.endswith(("了", "过")):
        return None
    return asked


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
        if plain == "する" and not re.search(r"[一-龠ァ-ヶー]\Z|[一-龠ァ-ヶー]を\Z", asked):
            return None
        if plain == "する" and re.search(r"[をにへがで][一-龠]\Z", asked):
            return None
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


def _read_arabic(sentence: str) -> str | None:
    match = _ASKED_AR.fullmatch(sentence)
    return match["asked"].strip() if match is not None and _AR_NOUNS.match(match["asked"]) else None


_READERS: dict[Language, Callable[[str], str | None]] = {
    Language.DE: _read_german,
    Language.ES: _read_spanish,
    Language.FR: _read_french,
    Language.ZH: _read_chinese,
    Language.JA: _read_japanese,
    Language.AR: _read_arabic,
}
