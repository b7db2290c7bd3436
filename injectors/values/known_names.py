"""Cities and given names that one may be said for another."""

from __future__ import annotations

from collections.abc import Mapping

from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.word_lists import make_phrases

CITIES: Mapping[Language, tuple[str, ...]] = {
    language: tuple(name.strip() for name in names.split(","))
    for language, names in {
        Language.EN: (
            "London, New York, Los Angeles, San Francisco, San Diego, Las Vegas, Hong Kong, Shanghai, "
            "Beijing, Singapore, Paris, Berlin, Madrid, Rome, Vienna, Lisbon, Dublin, Oslo, Stockholm, "
            "Copenhagen, Amsterdam, Brussels, Zurich, Geneva, Prague, Warsaw, Budapest, Athens, Istanbul, "
            "Cairo, Nairobi, Dubai, Mumbai, Delhi, Bangkok, Tokyo, Osaka, Seoul, Sydney, Melbourne, "
            "Toronto, Montreal, Boston, Chicago, Denver, Seattle, Houston, Atlanta, Miami, Phoenix, "
            "Portland, Philadelphia, Dallas, Austin, Barcelona, Vancouver, Munich, Milan, Venice, Naples, "
            "Detroit, Manchester, Liverpool, Edinburgh, Hamburg, Frankfurt, Kyoto, Nashville, Orlando"
        ),
        Language.DE: (
            "Berlin, Hamburg, München, Köln, Frankfurt, Stuttgart, Leipzig, Dresden, Bremen, Hannover, "
            "Nürnberg, Wien, Zürich, Graz, Salzburg, Bern, Basel, Prag, Paris, Rom, Madrid, London, Mailand"
        ),
        Language.ES: (
            "Madrid, Barcelona, Valencia, Sevilla, Zaragoza, Málaga, Bilbao, Granada, Lima, Bogotá, Quito, "
            "Santiago, Montevideo, Caracas, Medellín, Monterrey, París, Lisboa, Roma, Londres, Berlín"
        ),
        Language.FR: (
            "Paris, Lyon, Marseille, Toulouse, Nice, Nantes, Strasbourg, Bordeaux, Lille, Rennes, Grenoble, "
            "Bruxelles, Genève, Lausanne, Montréal, Rome, Madrid, Berlin, Londres, Lisbonne, Milan"
        ),
        Language.ZH: (
            "北京, 上海, 广州, 深圳, 杭州, 南京, 成都, 重庆, 武汉, 西安, 苏州, 天津, 长沙, 青岛, 厦门, 昆明"
        ),
        Language.JA: (
            "東京, 大阪, 京都, 名古屋, 札幌, 福岡, 仙台, 広島, 神戸, 横浜, 金沢, 新潟, 熊本, 岡山, 松山"
        ),
        Language.AR: (
            "القاهرة, الرياض, جدة, دبي, أبوظبي, الدوحة, عمّان, بيروت, بغداد, الكويت, مسقط, تونس, الرباط, مراكش"
        ),
    }.items()
}
GIVEN_NAMES = tuple(
    """
    Adam Alex Alice Amelia Amy Anna Ben Carla Carlos Chris Clara Daniel David Diana Elena Emily Emma Eric
    Eva Felix Frank George Hannah Harry Henry Ian Isabel Jack James Jane Jessica John Julia Karen Kate Kevin
    Laura Leo Linda Lisa Lucas Lucy Maria Mark Martin Mary Max Maya Mia Michael Nina Noah Nora Oliver Olivia
    Oscar Paul Peter Rachel Robert Rosa Ryan Sam Sara Sarah Simon Sofia Sophie Stefan Susan Theo Thomas Tim
    Tom Victor William Zoe Aaron Alan Albert Andrew Angela Ashley Barbara Brian Bob Brandon Carol Charles
    Christina Claire Donna Dylan Edward Elizabeth Ella Ethan Fiona Greg Helen Jason Jennifer Joe Joseph Josh
    Justin Kelly Larry Lauren Lucia Marie Matt Matthew Megan Melissa Mike Nancy Natalie Nathan Patricia
    Patrick Philip Richard Roger Samantha Scott Sean Sharon Stephanie Stephen Steve Steven Teresa Tina Tony
    Tyler Vanessa Vincent Walter
    """.split()
)
COUNTRIES = make_phrases(
    """
    Germany | France | Spain | Italy | Portugal | Austria | Poland | Sweden | Norway | Denmark | Brazil |
    Mexico | Canada | Japan | India | China | Australia | Egypt | Kenya | Turkey | Netherlands | Belgium |
    Switzerland | Ireland | Greece | Finland | Argentina | Chile | Colombia | Vietnam | Thailand | Indonesia |
    Russia | Ukraine | Nigeria | Ghana
    """
)
GROUPS = (
    COUNTRIES,
    *(
        tuple(name.strip() for name in names.split(","))
        for names in (
            "Apple, Google, Microsoft, Amazon, Tesla, Netflix, Intel, Nvidia, Samsung, Sony",
            "English, Spanish, French, German, Italian, Portuguese, Japanese, Chinese, Arabic",
            "California, Texas, Florida, Oregon, Nevada, Colorado, Arizona, Virginia, Georgia, Ohio, "
            "Michigan, Illinois, Indiana, Alabama, Louisiana, Tennessee, Minnesota, Wisconsin, Pennsylvania",
            "Los Angeles Lakers, Golden State Warriors, Boston Celtics, Chicago Bulls, Miami Heat",
            "Lakers, Warriors, Celtics, Bulls, Knicks, Rockets",
            "Manchester United, Manchester City, Liverpool, Chelsea, Arsenal, Real Madrid, Juventus",
            "LeBron James, Stephen Curry, Kevin Durant, Michael Jordan, Kobe Bryant",
            "Lionel Messi, Cristiano Ronaldo, Neymar",
            "Taylor Swift, Adele, Beyonce, Rihanna, Ed Sheeran, Eminem",
            "AAPL, GOOG, GOOGL, MSFT, AMZN, TSLA, NVDA, META, NFLX",
            "Bitcoin, Ethereum, Litecoin, Dogecoin",
            "Mozart, Beethoven, Bach, Chopin, Brahms",
            "Mercury, Venus, Mars, Jupiter, Saturn, Neptune",
            "Toyota, Honda, Nissan, Ford, Chevrolet, Hyundai, Mazda",
            "Facebook, Instagram, Twitter, LinkedIn, TikTok",
            "USD, EUR, GBP, JPY, CHF, CAD, AUD, CNY, INR",
            "Italian, Thai, Indian, Mexican, Chinese, Japanese, French, Greek, Korean, Vietnamese",
            "Python, Java, JavaScript, Ruby, Rust, Haskell, Kotlin, Swift",
        )
    ),
)
"""Names that stand for one another: a slip of the tongue."""

_NEAR_CITIES = tuple(
    tuple(name.strip() for name in names.split(","))
    for names in (
        "New York, Boston, Philadelphia",
        "New York, Chicago, Boston",
        "Los Angeles, San Francisco, San Diego, Oakland, Sacramento, San Jose, Fresno",
        "Seattle, Portland",
        "Houston, Dallas, Austin",
        "Denver, Phoenix, Las Vegas",
        "Atlanta, Miami",
        "Hong Kong, Shanghai, Singapore",
        "Shanghai, Beijing",
        "Tokyo, Osaka, Seoul",
        "Bangkok, Singapore",
        "London, Paris",
        "London, Dublin",
        "Rome, Madrid, Lisbon, Barcelona",
        "Rome, Milan, Venice, Naples",
        "Berlin, Munich, Hamburg, Frankfurt",
        "London, Manchester, Liverpool, Edinburgh",
        "Tokyo, Osaka, Kyoto",
        "Chicago, Detroit",
        "Atlanta, Nashville, Orlando, Miami",
        "Berlin, Vienna, Prague",
        "Amsterdam, Brussels",
        "Oslo, Stockholm, Copenhagen, Helsinki",
        "Warsaw, Budapest, Vienna, Prague",
        "Zurich, Geneva",
        "Athens, Istanbul",
        "Cairo, Nairobi",
        "Mumbai, Delhi",
        "Sydney, Melbourne",
        "Toronto, Montreal, Vancouver",
        "München, Hamburg, Berlin, Köln, Frankfurt, Stuttgart, Leipzig, Dresden, Bremen, Hannover, Nürnberg",
        "Wien, Graz, Salzburg",
        "Zürich, Bern, Basel",
        "Prag, Paris, Rom, London, Mailand",
        "Barcelona, Valencia, Sevilla, Zaragoza, Málaga, Bilbao, Granada, Madrid",
        "Lima, Bogotá, Quito, Santiago, Montevideo, Caracas, Medellín, Monterrey",
        "París, Lisboa, Roma, Londres, Berlín",
        "Paris, Lyon, Marseille, Toulouse, Nice, Nantes, Strasbourg, Bordeaux, Lille, Rennes, Grenoble",
        "Bruxelles, Genève, Lausanne, Rome, Londres, Lisbonne, Milan",
    )
)


CALIFORNIAN = frozenset(
    ("Los Angeles", "San Francisco", "San Diego", "Oakland", "Sacramento", "San Jose", "Fresno")
)
_SMALLER_CITIES = ("Oakland", "Sacramento", "San Jose", "Fresno", "San Diego", "Portland", "Phoenix")
"""What somebody may say for a city that isn't known: most of those are small and American."""


def list_near_cities(city: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The cities of the same country or fame, of those that the language knows; all where none is told."""
    english = known is CITIES[Language.EN]
    told = {*known, *_SMALLER_CITIES} if english else {*known}
    near = [group for group in _NEAR_CITIES if city in group and {city} < {*group} & told]
    if not near and english and city not in MORE_PLACES | told:
        return _SMALLER_CITIES
    return tuple(dict.fromkeys(name for group in near for name in group if name in told)) or known


_NEAR_COUNTRIES = tuple(
    frozenset(names.split())
    for names in (
        "Germany Austria Poland",
        "France Spain Italy Portugal",
        "Sweden Norway Denmark",
        "Brazil Mexico",
        "Japan China India",
        "Egypt Kenya Turkey",
        "Canada Australia",
        "Netherlands Belgium",
        "Switzerland Austria",
        "Greece Turkey",
        "Finland Sweden Norway",
        "Argentina Chile Colombia",
        "Vietnam Thailand Indonesia",
        "Russia Ukraine",
        "Nigeria Ghana Kenya",
    )
)


def list_near_countries(country: str) -> tuple[str, ...]:
    """The countries that somebody may name by mistake for this one."""
    return tuple(one for one in COUNTRIES if any({one, country} <= near for near in _NEAR_COUNTRIES))


def list_near_names(name: str) -> tuple[str, ...]:
    """The first names that begin like this one."""
    return tuple(one for one in GIVEN_NAMES if one[0] == name[0] and one != name)


MORE_PLACES = frozenset(
    name.strip()
    for name in (
        "Abu Dhabi, Alabama, Argentina, Austin, Baltimore, Bangalore, Barcelona, Bristol, California, Chile, "
        "Cologne, Dallas, Detroit, Edinburgh, Florence, Frankfurt, Georgia, Glasgow, Hamburg, Honolulu, "
        "Illinois, Iowa, Kansas, Kyoto, Leeds, Liverpool, Louisiana, Lyon, Manchester, Marseille, Memphis, "
        "Michigan, Milan, Moscow, Munich, Naples, Nashville, New Orleans, New York City, Nice, Ohio, Oregon, "
        "Orlando, Peru, San Antonio, Seville, Tampa, Texas, Valencia, Vancouver, Venice, "
        "BCN, BER, CDG, DC, DEN, JFK, LA, LAX, LDN, LHR, LON, NYC, PDX, SEA, SF, SFO, TLV, TYO"
    ).split(",")
)
"""Other cities, countries and states that English users name."""
