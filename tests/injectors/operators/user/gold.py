"""Messages of ten domains, each with the strings that its calls need literally."""

from __future__ import annotations

from typing import Any, NamedTuple

from crosswind.injectors.conversation import ToolList, ToolSchema
from crosswind.injectors.targets import Branch, UserTarget
from crosswind.injectors.text.entities import find_protected_spans


class Gold(NamedTuple):
    tool: ToolSchema
    text: str
    values: tuple[str, ...]


def target_of(text: str, gold: Gold | None = None) -> UserTarget:
    """A user's first message, with the tool that it is for."""
    tools = ToolList.of(() if gold is None else (gold.tool,))
    protected = find_protected_spans(text, tools)
    return UserTarget(text, 0, protected, tools, clean=text, branch=Branch(opening=text))


def _tool(name: str, **parameters: Any) -> ToolSchema:
    properties = {
        key: {"type": kind} if isinstance(kind, str) else {"type": "string", "enum": kind}
        for key, kind in parameters.items()
    }
    return ToolSchema(name, f"{name.replace('_', ' ')}.", {"type": "object", "properties": properties})


_SHELL = _tool("run_command", command="string", cwd="string")
_GIT = _tool("git_commit", message="string", branch="string", all="boolean")
_SQL = _tool("query_database", sql="string", table="string", limit="integer")
_RIDE = _tool("uber_ride", type=["plus", "comfort", "black"], loc="string", time="integer")
_FOOD = _tool("order_food", restaurant="string", item="string", quantity="integer")
_HOSPITAL = _tool(
    "schedule_visit", patient_name="string", department="string", reason="string", date="string"
)
_HOTEL = _tool("book_hotel", city="string", room_type="string", nights="integer", breakfast="boolean")
_HOME = _tool("set_device", device="string", room="string", mode="string", temperature="number")
_BANK = _tool("transfer", recipient="string", amount="number", reference="string", account="string")
_SEARCH = _tool("web_search", query="string", site="string")
_MUSIC = _tool("play_music", title="string", artist="string", playlist="string")
_MAIL = _tool("send_email", recipient="string", subject="string", body="string")
_TODO = _tool("todo", type=["add", "delete", "complete"], content="string")
_MATHS = _tool("triangle_area", base="number", height="number", unit="string")
_FILES = _tool("move_file", source="string", destination="string")
_RECIPES = _tool("find_recipes", ingredients="string", diet="string", cuisine="string")
_TRAVEL = _tool("find_flights", origin="string", destination="string", date="string", cabin="string")
_MOVIES = _tool("find_movies", genre="string", title="string", cast="string")

MESSAGES: tuple[Gold, ...] = (
    Gold(
        _SHELL,
        "Could you please start the container? I think docker start web will do.",
        ("docker start web",),
    ),
    Gold(_SHELL, "Hey, would you run shutdown /s /t 0 for me right now?", ("shutdown /s /t 0",)),
    Gold(_SHELL, "I need you to grep -rn 'TODO' src/ and show me what you find", ("grep -rn 'TODO' src/",)),
    Gold(
        _SHELL,
        "please use tail -f on access.log so that I can see what is going on",
        ("tail -f", "access.log"),
    ),
    Gold(_SHELL, "Can you go into the drafts folder and then list what is there?", ("drafts",)),
    Gold(_GIT, "Please commit everything with the message fix login redirect", ("fix login redirect",)),
    Gold(_GIT, "I'd like you to create a branch called feature/search and switch to it", ("feature/search",)),
    Gold(_GIT, "could you merge develop into release please, thanks", ("develop", "release")),
    Gold(_SQL, "I want to see the first ten rows of the customers table, please.", ("customers",)),
    Gold(
        _SQL,
        "Would you run select name from users where age > 30 for me?",
        ("select name from users where age > 30",),
    ),
    Gold(_SQL, "How many rows does the table order_items have?", ("order_items",)),
    Gold(_RIDE, "I would like to get uber pitada, can you find a ride from there?", ("uber pitada",)),
    Gold(
        _RIDE,
        "Could you please call me a comfort ride from 2020 Addison Street?",
        ("comfort", "2020 Addison Street"),
    ),
    Gold(
        _FOOD,
        "Please could you order two portions of coffee with milk from the blue heron?",
        ("coffee with milk", "blue heron"),
    ),
    Gold(
        _FOOD,
        "I think I want fish and chips from mum's kitchen, three times",
        ("fish and chips", "mum's kitchen"),
    ),
    Gold(
        _FOOD,
        "We need something quick: get us pad thai with extra peanuts.",
        ("pad thai with extra peanuts",),
    ),
    Gold(
        _HOSPITAL,
        "Hello, I need a visit for maria lopez in cardiology, she has trouble breathing at night.",
        ("maria lopez", "cardiology", "trouble breathing at night"),
    ),
    Gold(
        _HOSPITAL,
        "Could you move the appointment of john kim to next friday? The reason is a sore throat",
        ("john kim", "next friday", "sore throat"),
    ),
    Gold(
        _HOTEL,
        "I'm looking for a double room with a view of the sea in porto, for three nights.",
        ("double", "porto", "view of the sea"),
    ),
    Gold(
        _HOTEL,
        "Can you please find me a hotel near the old town of tallinn with breakfast?",
        ("tallinn", "old town"),
    ),
    Gold(
        _HOME,
        "Please turn the lamp in the living room to reading mode, would you?",
        ("lamp", "living room", "reading"),
    ),
    Gold(
        _HOME,
        "I want you to set the bedroom heater to 19 degrees and let me know when that is done",
        ("bedroom", "heater", "19"),
    ),
    Gold(_HOME, "could you just switch the kitchen radio off, thank you so much", ("kitchen", "radio")),
    Gold(
        _BANK,
        "I have to send 250 euros to anna schmidt with the reference rent for may, can you help?",
        ("250", "anna schmidt", "rent for may"),
    ),
    Gold(_BANK, "Would you please move 40 dollars from checking to savings?", ("40", "checking", "savings")),
    Gold(
        _SEARCH,
        "Can you search for how to get help with a broken window?",
        ("how to get help with a broken window",),
    ),
    Gold(_SEARCH, "I'd like to know what is the best way to learn to swim", ("best way to learn to swim",)),
    Gold(
        _SEARCH,
        "Please look up things to do in lisbon when it rains, thanks!",
        ("things to do in lisbon when it rains",),
    ),
    Gold(_SEARCH, "hey could you find news about electric buses", ("electric buses",)),
    Gold(_MUSIC, "Could you please play let it be by the beatles?", ("let it be", "the beatles")),
    Gold(
        _MUSIC,
        "I want to listen to here comes the sun, and then something else by them",
        ("here comes the sun",),
    ),
    Gold(
        _MUSIC,
        "please add what a wonderful world to the playlist named sunday morning",
        ("what a wonderful world", "sunday morning"),
    ),
    Gold(
        _MAIL, "Please tell sam that I will be there soon and that we should talk", ("I will be there soon",)
    ),
    Gold(
        _MAIL,
        "Could you send an email to lee@example.com with the subject lunch plans saying "
        "would you like to have lunch with me?",
        ("lee@example.com", "lunch plans", "would you like to have lunch with me"),
    ),
    Gold(_MAIL, "I need you to let the team know we really need more time.", ("we really need more time",)),
    Gold(
        _TODO, "Could you please add buy something nice for her to my list?", ("buy something nice for her",)
    ),
    Gold(_TODO, "todo: ask them about the keys", ("ask them about the keys",)),
    Gold(
        _MATHS,
        "Could you find out the area of a triangle with a base of 6 and a height of 10 inches?",
        ("6", "10", "inches"),
    ),
    Gold(
        _FILES,
        "I would really like you to move notes.txt into the archive folder, please.",
        ("notes.txt", "archive"),
    ),
    Gold(_FILES, "would you copy everything from drafts to finished for me?", ("drafts", "finished")),
    Gold(
        _RECIPES,
        "I have chicken and rice and would like to make something spanish, can you help?",
        ("chicken", "rice", "spanish"),
    ),
    Gold(_RECIPES, "Show me some vegan dishes with tofu please, I don't have much time", ("vegan", "tofu")),
    Gold(
        _TRAVEL,
        "Hi there, I need to get from new york to los angeles on 3 march in business",
        ("new york", "los angeles", "3 march", "business"),
    ),
    Gold(
        _TRAVEL,
        "Can you help me find something cheap to bali? I would prefer to leave from perth.",
        ("bali", "perth"),
    ),
    Gold(
        _MOVIES,
        "I'm in the mood for a comedy with keanu reeves, could you suggest something?",
        ("comedy", "keanu reeves"),
    ),
    Gold(
        _MOVIES, "Have you seen the lord of the rings? I want to watch it again.", ("the lord of the rings",)
    ),
)

FOREIGN: tuple[Gold, ...] = (
    Gold(
        _TRAVEL,
        "Hallo, ich möchte bitte einen Flug von hamburg nach wien buchen, geht das?",
        ("hamburg", "wien"),
    ),
    Gold(_HOME, "Kannst du bitte das licht im flur ausmachen, danke", ("licht", "flur")),
    Gold(_SEARCH, "Könnten Sie mir bitte sagen, wo man gut essen kann?", ("wo man gut essen kann",)),
    Gold(_TRAVEL, "Hola, quiero reservar un vuelo de lima a cusco, por favor", ("lima", "cusco")),
    Gold(_MUSIC, "¿Puedes poner la canción todo cambia de mercedes sosa?", ("todo cambia", "mercedes sosa")),
    Gold(
        _BANK, "Bonjour, je voudrais envoyer 50 euros à julie martin s'il vous plaît", ("50", "julie martin")
    ),
    Gold(
        _HOTEL, "Pouvez-vous me trouver une chambre avec vue sur la mer à nice ?", ("vue sur la mer", "nice")
    ),
    Gold(_HOTEL, "请帮我预订杭州西湖附近的双人间，谢谢", ("杭州西湖", "双人间")),
    Gold(_MUSIC, "麻烦您播放月亮代表我的心，可以吗", ("月亮代表我的心",)),
    Gold(_TRAVEL, "すみません、大阪から福岡までの便を調べてください。", ("大阪", "福岡")),
    Gold(_MAIL, "田中さんに会議は明日に変更と送ってもらえますか？", ("会議は明日に変更",)),
    Gold(_TRAVEL, "مرحبا، أريد حجز رحلة من القاهرة إلى دبي من فضلك", ("القاهرة", "دبي")),
    Gold(_FOOD, "ممكن تساعدني لو سمحت؟ أرغب في طلب كشري كبير", ("كشري كبير",)),
)
