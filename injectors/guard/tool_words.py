"""The words by which tools say that they read or write: in their names, and at the heads of descriptions."""

from __future__ import annotations

from crosswind.injectors.text.word_lists import make_words

READING = make_words(
    """get list search find lookup read check calculate fetch query describe show view retrieve count
    compute estimate compare inspect grep glob browse explain summarize summarise validate preview
    peek analyze analyse detect translate parse predict recommend suggest display enumerate identify
    measure scrape geocode aggregate cat ls head tail stat diff whoami pwd wc du is has are can
    exists what when who whom whose how which where why"""
)
"""Verbs that only read or compute. As the first word of a name they say that the tool reads."""

TELLING = READING | make_words(
    """return give provide tell look access obtain collect gather quote allow recursively locate
    multiply subtract solve"""
)
"""Verbs at the head of a description that reads."""

OF_THE_ANSWER = make_words("return give provide tell allow")
"""Those of TELLING that say what a call gives, and not what it does: `Returns the new status`."""

AFTER_A_CHANGE = make_words(
    """new newly updated created changed modified resulting receipt confirmation success successful
    succeeded acknowledgement acknowledgment"""
)
"""Words of what is given where something was changed."""

CALCULATING = make_words("quote plan simulate convert optimize optimise")
"""Verbs that read if what they are about is one of COMPUTED: `plan_route`, but not `plan_maintenance`."""

COMPUTED = make_words(
    """route routes path itinerary directions distance price prices cost costs fare fares fee fees
    premium rate rates capacity amount currency currencies time times timezone unit units temperature
    value number coordinates loan mortgage payments stops demand"""
)
"""What is only computed."""

AFTER_A_NOUN = make_words(
    """get list search find lookup read fetch retrieve describe query view show calculate count
    searches retriever"""
)
"""Reading verbs that say so behind a vendor or a noun, too: `slack_list_channels`, `issue_read`."""

SURELY_READING = AFTER_A_NOUN | make_words("check inspect enumerate lookup finder reader")
"""Verbs of a name that reads which are hardly nouns there, as `display` is in `display_settings`."""

HEADS = make_words(
    """search lookup get read find fetch retrieve retriever finder reader viewer calculator forecast"""
)
"""The same as the last word behind a noun that is a verb elsewhere: `order_lookup`, `book_search`."""

FACTS = make_words(
    """status info information details detail history balance balances price prices stats statistics
    summary weather schema metadata version count contents availability rate rates log logs rules
    options slots hours level levels temperature elevation distance duration time times traffic index
    score scores quality forecast timeline agenda inventory leaderboard coordinates cost costs fee fees
    usage health results eligibility headcount probability number names catalog catalogue"""
)
"""Last words of names that ask for facts. They say so only if the description agrees: `flip_status`."""

WRITING = make_words(
    """delete del remove rm rmdir mkdir unlink erase wipe purge destroy drop truncate create insert
    append write overwrite replace upsert modify send execute exec kill terminate uninstall
    unsubscribe cancel rename add unset upload reboot shutdown restart invoke evict rollback drain
    deprovision provision detach disconnect ungroup unassign unfollow unlike unstar unmute unblock
    unpin unpublish undo redo amend rebase retweet tweet chmod chown mv cp touch sudo spawn
    impersonate mutate increment decrement regenerate rotate reprioritize reorder reschedule resend rebook
    reassign reopen relabel renew revoke redeem refuel repay escalate unresolve edit"""
)
"""Verbs that change something wherever they stand in a name: `get_or_create`, `search_and_delete`."""

ACTING = make_words(
    """make save store put patch update commit set reset clear submit publish post import export
    install deploy run start stop launch trigger kick enable disable activate deactivate toggle flip
    turn switch lock unlock refund charge pay purchase buy sell trade transfer withdraw deposit book
    reserve order checkout subscribe follow like star approve reject accept decline confirm assign
    grant invite ban mute block archive restore merge push pull revert fork clone stash tag label
    close open resolve dismiss mark schedule notify email mail call dial reply forward comment react
    vote register login logout signin signup sign authenticate authorize generate draft move copy
    sync backup migrate apply request record log report place fill fund tip pin share attach connect
    join leave pause resume play skip press click type drag drop scroll navigate goto select tap
    swipe hover key keypress screenshot print build compile format lint test train fit tune scale
    resize crop convert rotate flash burn brew cook dispatch deliver ship return exchange claim
    acquire lease release hold free allocate assert issue mint wire redirect route queue enqueue
    dequeue pop consume next poll receive ack acknowledge handle process perform do batch bulk
    change adjust increase decrease raise lower extend shorten complete finish begin end abort retry
    wait sleep cancel ask delegate handoff hand escalate think plan remember memorize forget learn
    ingest index crawl scan probe ping mention watch unwatch listen speak say sing talk message chat
    text whisper shout announce broadcast stream fax ring eject insert mount unmount park drive
    steer refill refuel rent hire fire enroll enrol onboard terminate settle bid offer donate gift
    reward award score grade rate rank review moderate flag hide unhide render draw paint bind
    unbind link unlink map unmap initialize initialise init setup configure bootstrap seed reseed
    load unload flush evaluate verify certify stake swap bridge vacuum optimize reindex manage
    upgrade downgrade prescribe discontinue freeze unfreeze invest disarm silence snooze respond rsvp
    equip unequip resign dispose initiate arrange
    control operate inflate deflate inject bump bounce top trash shred cut paste sort shuffle split
    strip trim"""
)
"""Verbs that change something as a name's first word, or behind a noun; behind a reading verb most of them
are nouns: `get_order`, `list_posts`."""

UNTELLING = make_words(
    """process handle convert attach format render resize build compile extend lower raise split sort shuffle
    strip trim cut scale index map link load hide hold lint operate plan rank rate score grade evaluate test
    run wait sleep do perform begin end complete finish follow like stream drive score top try"""
)
"""Those of ACTING that say nothing in a description: `Handles several encodings`."""

ALSO_NOUNS = make_words(
    """order book post comment commit record log report request message email mail tag label schedule
    transfer store place release build offer bid trade archive track plan issue test call deposit
    vote page review grade score share stock text chat link map index rate route reward flag move
    upgrade"""
)
"""Those of ACTING that a search may be for: `order_lookup`."""

ADJECTIVES = make_words("free open complete")
"""Those of ACTING that are no verbs behind an article: `The free slots of a calendar`."""

MODIFIERS = ALSO_NOUNS | make_words(
    """free open set complete next key draft bulk batch backup block call charge checkout
    claim control cut deposit dial dispatch drive drop end exchange export fill flash fork
    fund gift grant hire hold import install invite join launch lease like lock login logout mark
    mention mint mount park pause pin play press print probe queue reply release rent
    request return ring scan screenshot seed sign sleep sort stake start swap swipe switch talk tap
    text tip train transfer trigger turn type wait watch wire award"""
)
"""Those of ACTING that are adjectives or nouns at the head of a description, if the name reads: `Free slots
of a doctor`, `Charge points near a place`."""

BEFORE_A_FACT = ALSO_NOUNS - make_words("post message email mail label text chat link move") | make_words(
    "exchange leave free"
)
"""Those of ACTING that may be no verb before one of FACTS, if the description reads: `leave_balance`."""

UNREPEATABLE = make_words("next pop dequeue consume acquire lease claim random lock mutex otp nonce roll")
"""Words of calls that give something else each time, or take something: not to be repeated."""

DATABASES = make_words(
    """sql database db postgres postgresql mysql sqlite mongo mongodb bigquery snowflake redshift
    oracle clickhouse duckdb graphql cypher neo4j spark warehouse statement dynamodb cosmos mssql
    mariadb athena"""
)
"""What a general query goes to: it may hold a DELETE, so the name `query_database` proves nothing."""

INTERPRETERS = make_words(
    "bash shell cmd terminal python repl javascript powershell eval interpreter ssh console"
)
"""What carries out anything that it is given."""

JOINING = make_words("and or then")
"""`find_and_replace`: what follows one of these is a verb again."""

PARTICLES = {
    "check": make_words("in out off box checkbox element"),
    "look": make_words("after"),
    "read": make_words("aloud"),
    "show": make_words("message notification alert dialog toast popup banner"),
    "display": make_words("message notification alert dialog toast popup banner"),
    "get": make_words("rid started"),
}
"""Second words with which a reading verb is none: `check_out_cart`, `check_in_passenger`, `show_alert`."""

COMMANDS = make_words(
    """command cmd script sql statement payload new_string old_string new_str old_str new_text
    overwrite dry_run confirm confirmed force patch stdin keystrokes"""
)
"""Parameters that no plain read takes."""

CHOICES = make_words("action operation op method http_method verb mode")
"""Parameters that choose what a tool does: their values tell."""

SELECTORS = make_words(
    """id ids uuid name names query q keyword keywords term terms code codes number reference date dates
    day days month months year years week weeks time start end from to since until after before min max
    limit offset page size count cursor sort filter filters type types kind category categories
    specialty city country region address location area place point zip zipcode postcode postal latitude
    longitude lat lon lng radius origin destination departure arrival airport stop line road route
    carrier airline symbol symbols ticker instruments currency language lang locale fields department
    team user username employee owner repo project service host domain namespace environment account
    customer patient doctor clinic ward player season depth period interval window timezone zone
    cabin passengers adults children capacity building room item folder town street hotel"""
)
"""Last words of parameters that choose what is asked for."""
