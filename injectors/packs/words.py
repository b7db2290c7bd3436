"""The words of a phrase, as the checks of packs compare them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosswind.injectors.text.languages import UNSPACED, Language

_TOKEN = re.compile(r"\{[^{}]*\}|[^\W_]+(?:['’][^\W_]+)?")
_SIGN = re.compile(r"\{[^{}]*\}|[a-z0-9]+|[^\W_]")
_HAN_PAIR = re.compile(r"[\u4e00-\u9fff]{2}")
_JAPANESE_WORD = re.compile(
    r"""
    [\u4e00-\u9fff々]+ | [ァ-ヴー]{2,} | ちなみに | ところで | そういえば | とりあえず | ついでに | すみません
    | ごめん | ちょっと | やっぱり? | いつも | よろしく | ありがと
    """,
    re.VERBOSE,
)
"""A word's part in kanji or katakana. Hiragana, without spaces, hides words: only some that become habits."""
_ARABIC_MARKS = re.compile("[\u0610-\u061a\u064b-\u065f\u0670\u0640]")
"""Vowel signs, and the line that stretches a word; few type them."""
_ARABIC_LETTERS = str.maketrans("أإآٱىة", "اااايه")
"""Letters that people type for one another."""
_ARABIC_CLITIC = re.compile(r"\b(?:[وف]?(?:[بك]?ال|لل)(?=\w{3})|و(?=\w{4}))")
"""And, in, like, to and the article, which are written with the next word: "وبالرحلة" is the word "رحلة"."""
"""Languages without spaces between words: their characters and Latin words are compared instead."""
_STOP_WORDS = {
    Language.EN: frozenset(
        """
        a about all also an and any are as at be because been before but by can can't could couldn't did
        didn't do does doesn't doing don't else even ever few for from get gets getting give go going got had
        has have haven't he her here hers him his how i i'd i'll i'm i've if in into is isn't it it'll it's
        its know like made make may me might mine more most much must my need no not now of off on once one
        only or other our out over own please put really same see she should since so some still such than
        that that's the their them then there there's these they they're thing things this those though
        through to too under until up us use very want was wasn't way we we're well were what what's when
        where whether which while who whose why will with won't would wouldn't yet you you'd you'll you're
        you've your yours
        """.split()
    ),
    Language.DE: frozenset(
        """
        aber alle allem allen aller alles als also am an andere anderen anderer anderes auch auf aus bei
        beim bin bis bist da dabei dafür damit dann daran darauf darf darum das dass davon dazu dein deine
        deinem deinen deiner dem den denen denn der deren des dich die dies diese diesem diesen dieser
        dieses dir doch dort du durch ein eine einem einen einer eines er erst es etwas euch euer eure für
        gegen geht gibt habe haben habt halt hat hatte hätte hier hin ich ihm ihn ihnen ihr ihre ihrem ihren
        ihrer im immer in ins irgendwann irgendwas irgendwo ist ja jede jedem jeden jeder jedes jetzt kann
        kannst kein keine keinem keinen keiner können könnte könnten könntest lassen lässt mache machen
        macht mal man mehr mein meine meinem meinen meiner meines mich mir mit muss nach nein nicht nichts
        noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit selbst sich sie sind so
        soll sollte sonst statt über um und uns unser unsere unserem unseren unserer unter viel vom von vor
        wann war wäre waren warum was weg weil weiter welche welcher welches wem wen wenig wenn wer werde
        werden wie wieder will wir wird wirst wo wohl wollen wollte würde würden würdest zu zum zur zwar
        zwischen
        """.split()
    ),
    Language.FR: frozenset(
        """
        ai aie alors après as assez au aucun aucune aura aurais aurait autre autres aux avais avait avant avec
        avez avoir avons ça car ce ceci cela celle celui ces cet cette chaque chez chose comme comment dans de
        des dès dois doit donc dont du elle elles en encore entre es est et étaient étais était été être eu
        eux faire fais fait faut font fût ici il ils jamais je jusque la là le les leur leurs lui ma mais me
        même mes mien mienne moi moins mon ne ni non nos notre nous on ont ou où oui par parce pas peu peut
        peux plus plutôt pour pourquoi pourrait pourriez pouvez puis quand que quel quelle quelles quelque
        quelques quels qui quoi rien sa sais sait sans se sera serai serait ses si soi soit son sont sous
        suis sur ta te tes toi ton toujours tous tout toute toutes très tu un une va vais vers veux vos votre
        voudrais vous vu
        """.split()
    ),
    Language.ES: frozenset(
        """
        además ahora ahí algo alguien alguna algunas alguno algunos algún allá allí ante antes aquel aquella
        aquello aquí así aun aunque aún bien bueno cada casi como con contra cosa cosas cual cuales
        cualquier cuando cuenta cuál cuándo cuánta cuántas cuánto cuántos cómo dado dan dar dará debe del
        demás dentro desde después dice dicen dicho digo donde durante dónde era eran eres esa esas ese eso
        esos esta estaba estar estará estas este esto estos estoy está están esté fue fuera fuese fui gente
        haber habrá habría había hace hacen hacer haga hago han haría has hasta hay haya hecho iba incluso
        las les los luego menos mientras mis misma mismas mismo mismos mucha muchas mucho muchos muy más mía
        mío nada nadie ninguna ninguno ningún nos nosotros nuestra nuestro otra otras otro otros para parece
        parte pasa pero poca poco pocos podemos poder podrá podría podrían podrías por porque pueda puede
        pueden puedes puedo pues que queda quede quien quienes quiera quiere quieren quieres quiero quisiera
        quién qué sabe saber sabes sea según ser será sería sido siendo sin sino sobre solo somos son soy
        sus suya suyo sólo tal también tampoco tan tanta tanto tendría tendrías tener tenga tengo tenía
        tiene tienen tienes toda todas todavía todo todos tras tus tuya tuyo una unas uno unos usted ustedes
        vamos van vas vaya vea ver voy
        """.split()
    ),
    Language.AR: frozenset(
        """
        احد اخر اخري اذا اكثر الا التي الذي الذين الان الي اللي اليه اما امر امس انا انت انتم انك انما انه
        انها اني او اول اي ايضا اين بد بس بشكل بعد بعض بل بما بها به بين تكون تلك ثم جدا جميع حال حتي حول حيث
        حين خلال دون ذلك شيء علي عليه علي عما عن عند عندما عندي عنه عنها غير فان فقط فهذا فهذه فهل فهو في فيه
        فيها قبل قد كان كانت كذلك كل كله كلها كلما كم كما كنت كنا كون كي كيف لا لان لدي لقد لك لكل لكم لكن
        لكنه لكنها لم لما لماذا لن لنا له لها لهم لو لي ليس ليست ليش ما ماذا متي مثل مثله مجرد مره مع
        معك معه معي من منذ منك منه منها مني مين نحن نحو نعم نفس نفسه هاي هذا هذه هذي هل هم هنا هناك هو هي وان
        وقد وكان وكل ولا ولكن ولم ولو وما ومن وهذا وهذه وهو وهي يا يعني يكون يمكن
        """.split()
    ),
}
_VALUE_WORDS = {
    Language.EN: frozenset(
        """
        two three four five six seven eight nine ten eleven twelve twenty thirty hundred thousand dozen
        monday tuesday wednesday thursday friday saturday sunday today yesterday tomorrow tonight
        january february april june july august september october november december
        """.split()
    ),
    Language.DE: frozenset(
        """
        zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreissig hundert tausend dutzend
        montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
        montags dienstags mittwochs donnerstags freitags samstags sonnabends sonntags
        heute gestern vorgestern morgen übermorgen
        januar februar märz april mai juni juli august september oktober november dezember
        """.split()
    ),
    Language.FR: frozenset(
        """
        deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize vingt trente
        quarante cinquante soixante cent cents mille dizaine douzaine quinzaine vingtaine centaine
        lundi mardi mercredi jeudi vendredi samedi dimanche lundis mardis mercredis jeudis vendredis samedis
        dimanches aujourd'hui hier demain midi minuit
        janvier février fevrier mars avril mai juin juillet août aout septembre octobre novembre décembre
        decembre
        """.split()
    ),
    Language.ES: frozenset(
        """
        dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis dieciseis
        diecisiete dieciocho diecinueve veinte veintidós veintitrés veinticuatro veinticinco treinta cuarenta
        cincuenta sesenta setenta ochenta noventa cien ciento cientos doscientos quinientos mil decena docena
        decenas docenas quincena veintena centenar
        lunes martes miércoles miercoles jueves viernes sábado sabado domingo sábados sabados domingos
        hoy ayer anteayer mañana mañanas mediodía mediodia medianoche
        enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre
        """.split()
    ),
}
"""Numbers and days in words, "ß" as "ss". "March" and "May" mean too much else."""
_ARABIC_NUMBER = r"""
    (?:ثلاث|اربع|خمس|ست|سبع|تسع|عشر)ه? | ثمان(?:ي|يه)? | (?:عشر|ثلاث|اربع|خمس|ست|سبع|ثمان|تسع)(?:ين|ون)
    | اثنا | اثنت?(?:ين|ان) | ما?ئه | ما?ئت(?:ين|ان) | ميه | الفين | الف | الاف | مليون | دزينه
    | نصف | ربع | ثلث | (?:يوم|اسبوع|شهر|سنت|عام|ساعت|دقيقت|مرت|شخص|ليلت)ين
    | يناير | فبراير | مارس | ابريل | مايو | يوني[وه] | يولي[وه] | اغسطس | سبتمبر | اكتوبر | نوفمبر | ديسمبر
    | كانون | شباط | اذار | نيسان | ايار | حزيران | تموز | ايلول | تشرين | رمضان | شوال
"""
_VALUE_SIGNS = {
    Language.AR: re.compile(
        rf"""
        \b[وف]?(?:[بكل]?(?:ال)?|لل)(?:{_ARABIC_NUMBER})\b
        | \b[وف]?(?:[بك]?ال|لل)(?:احد|اثنين|ثلاثاء?|اربعاء?|خميس|جمعه|سبت|يوم|ليله|بارحه|غد|امس)\b
        | \b[وف]?[بل]?(?:امس|امبارح|غدا?|بكره|بكرا)\b
        """,
        re.VERBOSE,
    ),
    Language.ZH: re.compile(
        r"""
        [二两三四五六七八九十百千万亿俩仨〇] | 半(?=[个年月斤价折小]) | 一(?=[月号刻])
        | [今明昨][天日晚早儿] | [前后]天 | (?:周|星期|礼拜)(?:[一天]|日(?!程|常)) | [中正]午 | 零点
        | 元旦 | 春节 | 国庆 | 中秋 | 端午
        """,
        re.VERBOSE,
    ),
    Language.JA: re.compile(
        r"""
        [一二三四五六七八九十百千万億〇] | 半(?=[日月年額時]) | [今明昨]日 | 明後日 | [今昨]夜 | 今[朝晩]
        | [月火水木金土日]曜 | 正午 | 元[日旦] | 正月 | きのう | おととい | あさって
        | あした(?=[のはもかにで、。]) | ふたつ | みっつ | ふたり | クリスマス | ゴールデンウィーク | ダース
        """,
        re.VERBOSE,
    ),
}
"""Numbers and days in a language that writes words together. Chinese "一" is mostly an article, and in many
words. Arabic "أحد" is somebody, "الأحد" Sunday."""
_NUMERALS_IN_WORDS = {
    Language.AR: re.compile(r"\bالف (?:شكر|مبروك|سلامه|تحيه|عافيه)|\b(?:طوال|طول|طيله|ذلك|نفس) اليوم\b"),
    Language.ZH: re.compile(
        """
        第. | 万一 | 万能 | 千万(?=[别不要得]) | 十分(?!钟) | 十足 | 再三 | 丢三落四 | 三心二意 | 三言两语
        | 乱七八糟 | 七嘴八舌 | 七上八下 | 五花八门 | 五颜六色 | 四处 | 四周 | 二手 | 二维码 | 三明治 | 八卦
        | 百科 | 百货 | 百搭 | 老百姓 | 千篇一律 | 不管三七二十一
        """,
        re.VERBOSE,
    ),
    Language.JA: re.compile(
        r"""
        一(?:応|緒|番(?![目線])|般|部|切|旦|瞬|覧|括|方|体|致|定|層|概|向に|度|言|息|気に|目|安心|苦労|律|通り)
        | 唯一 | 統一 | 同一 | 均一 | 万が?一 | 万[能全年] | 十[分全](?![後前間]) | 二度手間 | 二度と | 二の次
        | 三日坊主 | 再三 | 四季 | 四六時中 | 四角 | 三角 | 七味 | 八百屋 | 八つ当たり | 八方 | 百貨 | 百科
        """,
        re.VERBOSE,
    ),
}
"""Words that hold a numeral and name no number."""
_STOP_SIGNS = {
    Language.ZH: frozenset(
        "的地得了着过是我你您他她它们咱这那哪个么什怎谁就也都还再又在有没无要会能可以吗呢吧啊呀嘛哦啦哈不别很太"
        "更最挺把被给让跟和与对从到来去说看想用做一些几多少大小好先后时候如果因为所但而且或者等之其自己为只才已经"
        "于里上下中边前面样点儿出起来回进成当将该应比像帮请里家人事天年月日"
    ),
}
"""The characters of Chinese words that any text repeats."""
_JAPANESE_STOP_WORDS = frozenset("人方事物時言思見出行来何私前後中上下今日年分間気願聞書教使入手本的")
_CHANGES = {
    Language.ES: re.compile(
        r"(?i)\b(?:a|al|de|del|e|el|la|las|lo|los|mi|mis|o|su|sus|tu|tus|u|un|una|unas|unos|y) "
        r"\{(?:value|rival|option|chosen)\}"
    ),
    Language.AR: re.compile(r"[\u0600-\u06ff]+\{[a-z]+\}"),
}
"""Words that would change with what fills the slot: "de" and "el 15" make "del 15". Arabic clitics are joined
to the next word, and "ل" takes the article's first letter."""
_ELISION = re.compile(r"\b(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu)['’]")
"""French words that lose their vowel before the next: "d'août" is the word "août"."""


def find_values(text: str, language: Language) -> list[str]:
    """The numbers and days in a text's words."""
    if language in _VALUE_SIGNS:
        return _VALUE_SIGNS[language].findall(_NUMERALS_IN_WORDS[language].sub(" ", fold(text, language)))
    return sorted(_VALUE_WORDS.get(language, frozenset()) & {*split_words(text, language)})


def find_content_words(text: str, language: Language) -> set[str]:
    """The words that are a text's own, in Chinese as pairs of characters, in Japanese what is in kanji or
    katakana; none where we have no list of the words that any text repeats."""
    if language is Language.JA:
        return {*_JAPANESE_WORD.findall(text)} - _JAPANESE_STOP_WORDS
    if signs := _STOP_SIGNS.get(language):
        pairs = (text[at : at + 2] for at in range(len(text) - 1))
        return {pair for pair in pairs if _HAN_PAIR.fullmatch(pair) and not signs & {*pair}}
    if (ignored := _STOP_WORDS.get(language)) is None:
        return set()
    return {word for word in split_words(text, language) if len(word) > 2 and word not in ignored}


def fold(text: str, language: Language) -> str:
    """An Arabic text without vowel signs, with one letter for those that people type for one another."""
    return _ARABIC_MARKS.sub("", text).translate(_ARABIC_LETTERS) if language is Language.AR else text


def find_changes(text: str, language: Language) -> list[str]:
    """The slots that stand after a word which would have to change with what fills them."""
    return pattern.findall(text) if (pattern := _CHANGES.get(language)) else []


def split_words(text: str, language: Language) -> list[str]:
    """Words in lower case, and slots; French without elided words, Arabic without clitics; in Chinese and
    Japanese the single characters."""
    pattern = _SIGN if language in UNSPACED else _TOKEN
    folded = fold(text.casefold(), language)
    if language is Language.AR:
        folded = _ARABIC_CLITIC.sub("", folded)
    if language is Language.FR:
        folded = _ELISION.sub("", folded)
    return [token.replace("’", "'") for token in pattern.findall(folded)]


def opening(text: str, language: Language) -> tuple[str, ...]:
    """How a text begins: three words or five characters; nothing for a text that is hardly longer."""
    tokens = split_words(text, language)
    length, least = (5, 9) if language in UNSPACED else (3, 5)
    return tuple(tokens[:length]) if len(tokens) >= least else ()


def runs(text: str, language: Language) -> Iterator[tuple[str, ...]]:
    """The text as a whole, and its runs of four words, or of eight characters, that have no slot within."""
    tokens = split_words(text, language)
    length = 8 if language in UNSPACED else 4
    yield tuple(tokens)
    for start in range(len(tokens) - length + 1):
        run = tuple(tokens[start : start + length])
        if not any(token.startswith("{") for token in run):
            yield run
