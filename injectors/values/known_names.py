"""Cities and given names that one may be said for another."""

from __future__ import annotations

from collections.abc import Mapping

from crosswind.injectors.text.languages import Language

CITIES: Mapping[Language, tuple[str, ...]] = {
    language: tuple(name.strip() for name in names.split(","))
    for language, names in {
        Language.EN: (
            "London, New York, Los Angeles, San Francisco, San Diego, Las Vegas, Hong Kong, Shanghai, "
            "Beijing, Singapore, Paris, Berlin, Madrid, Rome, Vienna, Lisbon, Dublin, Oslo, Stockholm, "
            "Copenhagen, Amsterdam, Brussels, Zurich, Geneva, Prague, Warsaw, Budapest, Athens, Istanbul, "
            "Cairo, Nairobi, Dubai, Mumbai, Delhi, Bangkok, Tokyo, Osaka, Seoul, Sydney, Melbourne, "
            "Toronto, Montreal, Boston, Chicago, Denver, Seattle, Houston, Atlanta, Miami, Phoenix, "
            "Portland, Philadelphia"
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
    Adam Alex Alice Amelia Amy Anna Ben Carla Carlos Chris Clara Daniel David Diana Elena Emily Emma Eric Eva
    Felix Frank George Hannah Harry Henry Ian Isabel Jack James Jane Jessica John Julia Karen Kate Kevin Laura
    Leo Linda Lisa Lucas Lucy Maria Mark Martin Mary Max Maya Mia Michael Nina Noah Nora Oliver Olivia Oscar
    Paul Peter Rachel Robert Rosa Ryan Sam Sara Sarah Simon Sofia Sophie Stefan Susan Theo Thomas Tim Tom
    Victor William Zoe
    """.split()
)
COUNTRIES = (
    *("Germany", "France", "Spain", "Italy", "Portugal", "Austria", "Poland", "Sweden", "Norway", "Denmark"),
    *("Brazil", "Mexico", "Canada", "Japan", "India", "China", "Australia", "Egypt", "Kenya", "Turkey"),
)
GROUPS = (
    COUNTRIES,
    *(
        tuple(name.strip() for name in names.split(","))
        for names in (
            "Apple, Google, Microsoft, Amazon, Tesla, Netflix, Intel, Nvidia, Samsung, Sony",
            "English, Spanish, French, German, Italian, Portuguese, Japanese, Chinese, Arabic",
            "California, Texas, Florida, Oregon, Nevada, Colorado, Arizona, Virginia, Georgia",
            "USD, EUR, GBP, JPY, CHF, CAD, AUD, CNY, INR",
            "Italian, Thai, Indian, Mexican, Chinese, Japanese, French, Greek, Korean, Vietnamese",
            "Python, Java, JavaScript, Ruby, Rust, Haskell, Kotlin, Swift",
        )
    ),
)
"""Names that stand for one another: a slip of the tongue."""

_REGIONS = {
    "California": "Los Angeles, San Francisco, San Diego",
    "Nevada": "Las Vegas",
    "Massachusetts": "Boston",
    "Illinois": "Chicago",
    "Colorado": "Denver",
    "Texas": "Houston, Dallas, Austin, San Antonio",
    "Florida": "Miami, Orlando, Tampa",
    "Arizona": "Phoenix",
    "Oregon": "Portland",
    "Pennsylvania": "Philadelphia",
    "China": "Shanghai, Beijing",
    "France": "Paris, Lyon, Marseille, Nice",
    "Germany": "Berlin, Munich, Hamburg, Frankfurt, Cologne",
    "Spain": "Madrid, Barcelona, Seville, Valencia",
    "Italy": "Rome, Milan, Venice, Florence, Naples",
    "Austria": "Vienna",
    "Portugal": "Lisbon",
    "Ireland": "Dublin",
    "Norway": "Oslo",
    "Sweden": "Stockholm",
    "Denmark": "Copenhagen",
    "the Netherlands": "Amsterdam",
    "Belgium": "Brussels",
    "Switzerland": "Zurich, Geneva",
    "Poland": "Warsaw",
    "Hungary": "Budapest",
    "Greece": "Athens",
    "Turkey": "Istanbul",
    "Egypt": "Cairo",
    "Kenya": "Nairobi",
    "India": "Mumbai, Delhi, Bangalore",
    "Thailand": "Bangkok",
    "Japan": "Tokyo, Osaka, Kyoto",
    "Australia": "Sydney, Melbourne",
    "Canada": "Toronto, Montreal, Vancouver",
    "England": "London, Manchester, Liverpool, Bristol, Leeds",
    "Scotland": "Edinburgh, Glasgow",
    "Washington State": "Seattle",
    "Georgia": "Atlanta",
    "Michigan": "Detroit",
    "Tennessee": "Nashville, Memphis",
    "Louisiana": "New Orleans",
    "Hawaii": "Honolulu",
    "the Czech Republic": "Prague",
    "Russia": "Moscow",
    "South Korea": "Seoul",
    "the Emirates": "Dubai, Abu Dhabi",
}
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


def list_near_cities(city: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The cities of the same country or fame, of those that the language knows; all where none is told."""
    near = [group for group in _NEAR_CITIES if city in group and {city} < {*group} & {*known}]
    return tuple(dict.fromkeys(name for group in near for name in group)) or known


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
    )
)


def list_near_countries(country: str) -> tuple[str, ...]:
    """The countries that somebody may name by mistake for this one."""
    return tuple(one for one in COUNTRIES if any({one, country} <= near for near in _NEAR_COUNTRIES))


def list_near_names(name: str) -> tuple[str, ...]:
    """The first names that begin like this one."""
    return tuple(one for one in GIVEN_NAMES if one[0] == name[0] and one != name)


REGION_OF = {city.strip(): region for region, cities in _REGIONS.items() for city in cities.split(",")}
"""The state or country of an English city's name."""
_AREAS = {
    "the East Coast": "Boston, New York, New York City, Philadelphia, Miami, Baltimore",
    "the West Coast": "Los Angeles, San Francisco, San Diego, Seattle, Portland, California, Oregon",
    "the Midwest": "Chicago, Detroit, Kansas, Iowa, Ohio, Illinois, Michigan",
    "the South": "Texas, Georgia, Alabama, Louisiana, Atlanta",
    "Europe": "Germany, France, Spain, Italy, Portugal, Austria, Poland, Sweden, Norway, Denmark",
    "South America": "Brazil, Argentina, Chile, Peru",
    "North America": "Mexico, Canada",
    "Asia": "Japan, India, China, Hong Kong, Singapore",
    "Africa": "Egypt, Kenya",
}
AREA_OF = {place.strip(): area for area, places in _AREAS.items() for place in places.split(",")}
"""Where in its country or in the world an English place lies."""
