"""How descriptions of tools and parameters say things: verbs, what stands before them, and phrases that mean
the same.

All are common in real documentation, so that no word gives noise away.
"""

from __future__ import annotations

from crosswind.injectors.text.word_lists import make_phrases, make_words

VERBS = make_words(
    """
    accept access acquire activate add adjust allocate allow analyze append apply approve archive
    arrange assess assign attach authenticate authorize backup block book browse build buy calculate
    cancel capture categorize change check choose clear click clone close collect combine comment
    compare compile complete compress compute conduct configure confirm connect consult convert copy
    count create customize deactivate decode decrypt define delete deliver deploy describe detect
    determine disable disconnect dismiss display divide download draw edit enable encode encrypt end
    ensure enumerate establish estimate evaluate examine execute expand explain explore exchange export
    extract fetch fill filter find finalize finish fix follow forecast fork format forward fund fulfil
    generate get give grant group guess handle hide identify import increase indicate inform initialize
    initiate insert inspect install integrate invite invoke issue join kill launch leave link list load
    locate mention lock log login logout look lookup maintain make manage map mark match measure merge
    mint modify monitor move multiply navigate notify obtain offer open optimize order organize parse
    pause pay perform pick place plan play plot populate post predict prepare preview print process
    produce propose provide publish pull purchase push query rank read rearrange recall receive
    recommend record redeem reduce refresh refund register reject release reload remind remove rename
    render renew reopen reorder replace reply report request reschedule reserve reset resolve restart
    restore resume retrieve retweet return reverse review revoke roll rotate run save scan schedule
    scrape search secure select sell send set share ship show shut sign simplify simulate skip solve
    sort split start stop store stream submit subscribe subtract suggest summarize suspend switch sync
    take tell terminate test toggle track trade train transcribe transfer transform transition translate
    trigger trim turn undo uninstall unlock unsubscribe update upgrade upload use validate verify view
    visualize wait watch withdraw write yield zip
    """
)
"""Words that begin a description and are verbs, in their base form."""

NOUNS_TOO = make_words(
    """
    access backup block book build change check clone comment copy count display document draw end
    estimate export filter fix forecast format group guess import increase invite issue link list load
    lock log login logout lookup map mark match measure mint monitor move offer open order pause pay
    pick place plan play plot post preview print process produce purchase push query rank read record
    refund register release reminder report request reserve reset return review roll run save scan
    schedule search secure set share ship show sign sort split start stop store stream switch take test
    track trade train transfer trigger turn update upgrade upload use view visit wait watch yield zip
    """
)
"""Verbs that are nouns as well: surely a verb only before an article and the like."""

MOSTLY_VERBS = make_words("exchange list move open read reply reset run search show subscribe track view")
"""Those of them that a description hardly begins with as nouns."""

DOUBLED = make_words(
    """
    begin cancel chat commit cut drop equip format forget get label log map model occur permit plan plot
    program put refer reset rip run scan set shop shut skip split step stop submit swap tag transfer
    travel trim unzip zip
    """
)
"""Verbs that double their last letter before "-ing"."""

SAME_VERBS: tuple[frozenset[str], ...] = tuple(
    frozenset(line.split("|"))
    for line in (
        "get|retrieve|fetch|obtain|return",
        "find|search for|look for|locate",
        "calculate|compute|determine|work out",
        "delete|remove",
        "update|modify|change",
        "show|display",
        "buy|purchase",
        "book|reserve",
        "choose|select|pick",
        "evaluate|assess",
        "perform|carry out",
        "execute|run",
        "generate|produce",
        "examine|inspect",
        "store|save",
        "provide|give|return",
        "initiate|start",
        "terminate|end",
        "validate|verify|check",
        "allow|enable",
        "inform|notify",
        "look up|retrieve|find",
        "analyze|examine",
        "identify|determine",
        "arrange|organize",
        "configure|set up",
        "list|enumerate",
        "create|set up",
    )
)
"""Verbs that can stand for each other before any object, or nearly: `ONLY_BEFORE` says before which."""

ONLY_BEFORE: dict[tuple[str, str], frozenset[str]] = {
    pair: frozenset(words.split())
    for pair, words in {
        (
            "create",
            "set up",
        ): "account accounts event meeting alert reminder user group channel project schedule "
        "workspace environment profile session connection appointment subscription budget",
        ("identify", "determine"): "the which what whether",
        ("terminate", "end"): "a an the session call",
    }.items()
}
"""One of the words has to follow within the next three."""

GOODS = make_words("item items order orders delivered product products purchase purchases parcel")

TO = make_phrases(
    """
    Use this to | Use this tool to | Call this to | Call this tool to | Tool to | A tool to | Used to |
    Can be used to | Lets you | Allows you to | Enables you to | You can use this to | Helps you | Helps to |
    Serves to | Function to | Utility to | Intended to | Designed to | Meant to | Can | Provides a way to |
    Gives you a way to | Offers a way to | Method to | The purpose is to | Makes it possible to |
    Use this function to | Use it to | Way to | Tool used to | Function used to | Operation to | Helper to |
    Made to | Action to | Convenient way to
    """
)
"""What a description begins with before a verb's base form."""
CALLS = tuple(one for one in TO if one.startswith(("Use ", "Call ", "You can")))
"""Those that can begin a later sentence."""
THIRD = make_phrases(
    """
    This tool | This function | This | A tool that | Tool that | The tool | It | Function that | This method |
    This operation | This action | The function | A function that | Helper that | Operation that | This call |
    An operation that | Action that | The operation | Method that
    """
)
"""Before its third person."""
GERUND = make_phrases(
    """
    Tool for | For | Used for | Useful for | Meant for | A tool for | Function for | Utility for | Supports |
    Handles | Takes care of | Intended for | Designed for | Responsible for | Helps with
    """
)
"""Before its gerund."""
LATER_THIRD = ("It", "This", "The tool", "This tool", "The function", "The call")
"""Before a third person that begins a later sentence."""
ALL_OF_THIRD = (*THIRD, *LATER_THIRD, "This API", "This endpoint", "API that", "This call")
ALL_OF_TO = (
    *TO,
    *make_phrases(
        """
        Use to | This tool will | This will | This function will | The tool will | This can | This tool can |
        This tool is used to | This function is used to | This is used to | It is used to | It can be used to
        | This tool allows you to | This lets you | This function allows you to | This tool lets you
        """
    ),
)

WHEN = make_phrases(
    """
    Use this when | Use this tool when | Useful when | Call this when | Use it when | Meant for when |
    Call this tool when | Helpful when | For when | Useful for when | To be used when | Good for when
    """
)
"""Before the case in which a tool is used."""

FIELD = make_phrases(
    """
    Specifies | Gives | Sets | Defines | Contains | Indicates | Denotes | States | Describes | This is |
    It is | Expects | Represents | Determines | Identifies
    """
)
"""What the description of a parameter can begin with before "the"."""
WHETHER = make_phrases(
    """
    Whether | Indicates whether | Specifies whether | Determines whether | Says whether | Controls whether |
    Tells whether | Defines whether | Decides whether | Sets whether | Flag for whether
    """
)
IF_TRUE = ("If true", "If set to true", "When true", "When set to true", "If this is true", "Where true")

EXAMPLE = ("e.g.", "for example", "for instance", "such as", "like")
"""Before examples, in brackets or behind a comma."""
DEFAULT = make_phrases(
    """
    Default is | Defaults to | The default is | Default value is | The default value is | Default: |
    Default value: | By default | If omitted, | If not given, | When omitted:
    """
)
ONE_OF = make_phrases(
    """
    Must be one of | Has to be one of | One of | Can be one of | Needs to be one of | Possible values are |
    Valid values are | Allowed values are | Either of | Accepted values are | Options are
    """
)

SAME_PHRASES: tuple[tuple[str, ...], ...] = tuple(
    tuple(line.split("|"))
    for line in (
        "the specified|the given|the provided|the supplied",
        "a specified|a given|a specific|a particular",
        "specified by|given by|provided by",
        "for specific|for particular",
        "information about|information on|details about|details of|details on",
        "detailed information about|detailed information on|full details of",
        "associated with|linked to|tied to|linked with",
        "belonging to|owned by",
        "as well as|along with|together with|and also",
        "in order to|to|so as to",
        "allows you to|lets you|enables you to",
        "for the purpose of|for",
        "a number of|several",
        "a variety of|various|a range of",
        "with respect to|with regard to|regarding",
        "is used to|serves to",
        "used for|meant for",
        "make sure|ensure",
        "in the event of|in case of",
        "in the event that|in case",
        "prior to|ahead of",
        "at the same time|simultaneously",
        "is required|is needed",
        "are required|are needed",
        "will be returned|is returned",
        "within|inside",
        "details regarding|details about|details on",
        "regarding|about|concerning",
        "depending on|according to",
        "that match|matching|which match",
        "that matches|matching|which matches",
        "that contain|containing|which contain",
        "that contains|containing|which contains",
        "that belong to|belonging to|which belong to",
        "that belongs to|belonging to|which belongs to",
        "that are|which are",
        "that is|which is",
        "that has|which has|having",
        "that have|which have|having",
        "you want to|you would like to|you wish to",
        "the user wants to|the user would like to|the user wishes to",
        "whether or not|whether",
        "if applicable|where applicable",
        "if available|where available|when available",
        "if provided|if given|when provided|if supplied",
        "if specified|if given|when specified",
        "if not specified|if not given|unless specified|if left out",
        "if not provided|if not given|unless provided|if left out",
        "a valid|some valid",
        "usually|normally|typically",
        "normally|usually|typically",
        "typically|usually|normally",
        "currently|at present|at the moment",
        "additional|further|extra",
        "multiple|several",
        "entire|whole",
        "corresponding|matching",
        "based on|according to",
        "that can|which can",
        "that were|which were",
        "that was|which was",
        "that will|which will",
        "that should|which should",
        "which can|that can",
        "which are|that are",
        "which is|that is",
        "can be used to|is used to|serves to",
        "can be used for|is used for|is meant for",
        "you can also|it is also possible to",
        "you can|it is possible to",
        "because|since",
        "however|still|even so",
        "therefore|so|hence",
        "instead of|rather than|in place of",
        "in addition to|besides|apart from",
        "otherwise|if not",
        "so that|such that",
        "to determine|to find out|to establish",
        "to get the|to obtain the|to retrieve the|to fetch the",
        "to get a|to obtain a|to retrieve a|to fetch a",
        "to retrieve the|to get the|to obtain the|to fetch the",
        "to find the|to locate the|to look up the",
        "check if|check whether|see whether|verify whether",
        "checks if|checks whether|verifies whether",
        "check whether|check if|see whether",
        "checks whether|checks if|verifies whether",
        "to delete the|to remove the",
        "to update the|to change the|to modify the",
        "to calculate the|to compute the|to work out the",
        "particular|specific",
        "in the form of|as",
        "via|through",
        "etc|and so on|and the like",
        "approximately|roughly|about",
        "additionally|in addition|besides",
        "latest|newest",
        "immediately|right away|straight away",
        "as needed|as required|when needed",
        "make changes to|change|modify",
        "prefer this over|use this rather than",
        "work with|deal with",
        "up to date|current",
        "is specified|is given|is set",
        "is provided|is given|is set",
        "are provided|are given",
        "are specified|are given",
        "must be provided|must be given",
        "should be provided|should be given",
        "to be used|to use",
        "for use in|to be used in",
        "when you need to|if you need to|whenever you need to|when you have to",
        "if you need to|when you need to|if you have to",
        "you need to|you have to",
        "note that|keep in mind that|please note that|be aware that",
        "please note that|note that|bear in mind that",
        "such as|like",
        "helpful for|useful for",
        "by default|unless told otherwise|unless specified otherwise",
    )
)
"""Phrases that can stand for each other anywhere. Values, and words that limit or measure, are left out."""

HEADS = make_words(
    """
    account action activity actor address age album amount angle answer area array artist author balance
    base body book branch brand bucket budget capacity car card category channel charge choice city
    class code color colour column command comment company condition contact content coordinate
    coordinates cost count country course currency customer data dataset date dates day days deadline
    degree delay density department departure description destination details diameter difficulty
    dimension dimensions directory discount distance document domain duration email end endpoint energy
    entity environment event expression extension factor field file filename filter flag folder force
    format frequency friction function gender genre grade group guests height hotel hour hours id
    identifier image index ingredient ingredients input instrument interest interval isbn item items job
    key keyword keywords kind label language latitude law length level limit line link list location
    login longitude mass material maximum measurement medium meeting member message method mileage
    minimum minute minutes mode model molecule month name names nation network node note number numbers
    object occasion offset operation option options order organisation organization origin output owner
    page pair parameter parameters part party passenger password path pattern percentage period
    permission person phone place plan platform player point policy population port portion position
    postcode power prefix preference preferences pressure price priority probability product profession
    project property protocol province quantity query question radius range rank rate ratio reason
    recipient record reference region repository result results return role room route row rule salary
    sample scale schedule scope score season seat section sender sentence sequence series server service
    session set shape sign size skill sort source species speed sport stage standard start starting
    state statement station status step stock store strategy street strength string style subject sum
    symbol system table tag target task team temperature template tenure term text theme threshold
    ticket time timeframe timeout timestamp timezone title token tool topic total town track transaction
    type unit units url user username value values variable variety vehicle velocity version view volume
    voltage wavelength website week weight width word year years zip zone
    """
)
"""Nouns that a parameter's description begins with, whose article comes and goes."""

MODIFIERS = make_words(
    """
    actual additional alternative annual approximate available average base basic binary birth chosen
    complete current customer daily default departure desired destination display due electric email end
    exact expected final first full future geographical geographic given home initial input inner
    interest ip iso last local main maximum mean minimum monthly new numeric numerical old optimal
    optional original outer particular personal phone physical postal preferred present primary
    professional raw relative requested required return root search second secondary short source
    specific specified start starting target total unique user upper lower valid zip
    """
)
"""Words that can stand before such a noun."""
