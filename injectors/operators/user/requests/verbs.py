"""The verbs that requests begin with."""

from __future__ import annotations

SURE = frozenset(
    """
    accept activate add append freeze put reorder unfreeze decline dispute escalate refactor unfollow
    adjust advise allow analyse analyze announce append apply approve arrange ask assign attach
    authenticate avoid begin bring build buy calculate cancel choose clarify collect combine compare
    compute compress configure confirm connect convert correct create deactivate decrease define delete
    deploy describe determine disable dispute disconnect discard divide download eat edit enable encrypt
    enroll ensure enter erase establish estimate evaluate examine execute expand explain explore extend
    extract fetch figure fill find follow forward gather generate get give go grab greet handle help hire
    identify import include increase inform insert inspect install invite join keep launch learn leave let
    link locate maintain make merge modify multiply navigate notify obtain organise organize pay perform
    pick play populate predict prepare prevent proceed process produce provide purchase quote read rebook
    recommend reduce refer refill refresh reject remind remove rename replace reply reschedule resend
    resolve respond restart restore resume retrieve retweet revert review reword rewrite run scan search
    see select send separate share show shut simulate solve sort specify start stop store submit subtract
    suggest sum summarise summarize suspend swap switch take tell terminate throw translate transcribe try
    turn undo unlock unsubscribe upgrade upload use validate verify visit wake warn withdraw write
    """.split()
)
"""Those that are always verbs where a sentence begins with them."""

AMBIGUOUS = frozenset(
    """
    access alert filter archive balance block export vacuum book budget call change charge check clean
    clear close command comment commit contact copy count deposit display draft echo email estimate
    exchange file finish fix flag fork format group hold issue like list load lock log look lower mail map
    mark measure mention message monitor move mute name note open order pack park pass pause pin place
    plan plot point post present press print pull push query quit raise rank rate record refund register
    release rent repeat replay report request reserve reset return ring roll round sample save schedule
    screen sell set ship sign skip split star start stream subscribe supply test text ticket time touch
    track trade transfer trim tweet update view vote watch water weigh work zip
    """.split()
)
"""Those that may be a noun there, too: `order the soup`, but `order 17 is late`."""

BEHIND_VERB = frozenset(
    """
    a again all an another any back both down each every everything him her how it its me my off one our out
    some that the their them these this those three two up us what when where whether which who why your
    yourself
    """.split()
)
"""Words that make a verb of an ambiguous word before them."""

BEHIND_NOUN = frozenset({"about", "at", "for", "from", "in", "into", "on", "over", "to", "under", "with"})
"""Words that do so only where no other verb follows."""

DONE_BY_AGENT = frozenset(
    """
    activate add arrange book buy calculate cancel change check compare compute convert create delete disable
    display download edit enable exchange extract fetch file find generate get list locate modify move open
    order place plot post purchase query remove rename reschedule reserve return schedule search sell send set
    sort start stop submit transfer translate turn update upload verify withdraw write
    """.split()
)
"""What a user wants to do and the agent does for them: `I want to book it` is `book it`."""


DONE_BY_USER = frozenset(
    """
    apply arrive attend celebrate cook depart drive eat fly hike invest meet relocate ride sleep spend stay
    study travel
    """.split()
)
"""What a user does and no agent."""


def _gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return verb + "ing"


_DOUBLED = tuple(
    """
    beginning cancelling committing dimming dropping flagging formatting getting grabbing grepping letting
    logging mapping pinning planning plotting putting referring resetting running scanning setting shipping
    shutting skipping splitting starring stopping submitting summing swapping tagging transferring
    trimming zipping
    """.split()
)
GERUNDS = {_gerund(verb): verb for verb in sorted(SURE | AMBIGUOUS)} | {form: form[:-4] for form in _DOUBLED}
"""A verb's form in -ing to the verb."""
