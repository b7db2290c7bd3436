"""Parameters that services let callers leave out: their names, types, values, and what describes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class OptionalParameter(NamedTuple):
    """A parameter that callers may leave out."""

    name: str
    kind: str
    default: str
    """As a description names it; empty where there is none."""
    values: tuple[str, ...]
    """All that it takes, where these are few."""
    ways: tuple[str, ...]
    """Descriptions, without the mark at the end."""


def _read(text: str) -> Iterator[OptionalParameter]:
    """Each begins with a line of its name, type, default and values; the ways to describe it follow."""
    for entry in _ENTRY.split(text.strip()):
        head, *ways = (line.strip() for line in entry.splitlines())
        name, kind, default, *values = head.removesuffix(":").split(" ")
        yield OptionalParameter(name, kind, "" if default == "-" else default, tuple(values), tuple(ways))


_ENTRY = re.compile(r"\n(?= *\w+ (?:string|integer|number|boolean|array|object) .*:$)", re.MULTILINE)


OPTIONAL = tuple(
    _read(
        """
        limit integer 20:
            Maximum number of entries to return
            How many results to return
            The number of items to get
        max_results integer 10:
            Maximum number of results
            The maximum number of results to be returned
            Upper bound on the number of results
        count integer 25:
            Number of items in the answer
            How many items are returned
            The number of records to fetch
        page integer 1:
            The page number
            Page of the results to return
            Number of the page, starting from 1
        page_size integer 50:
            Number of items per page
            How many results are on a page, between 1 and 100
            The size of a page
        offset integer 0:
            Number of entries to skip
            The index of the first entry to return
            Where to start in the list
        cursor string -:
            Cursor for the next page of results
            A pointer to the position from which to go on
            Token from the previous page
        locale string en-US:
            The locale for the response, e.g. 'en-US'
            Locale in which texts are returned
            Language and region of the output
        language string en:
            The language of the results, such as 'en' or 'fr'
            Language code in ISO 639-1 format
            The language to be used for the response
        country string US:
            The country code, for example 'US'
            Country for which data is requested, in ISO 3166 format
            The country to limit the results to
        region string -:
            The region to look in
            Name of the region, if only one is of interest
            Geographic region for the request
        city string -:
            The name of the city, e.g. 'San Francisco'
            City to restrict the search to
            The city in question
        location string -:
            The location to use, in the format of 'City, State'
            Location of interest
            The place that the request is for
        currency string USD:
            Currency of the amounts, such as 'USD' or 'EUR'
            The three-letter currency code
            Currency in which values are given
        unit string metric metric imperial:
            The unit of measurement to use
            Unit system for the output
            The units in which values are returned
        verbose boolean false:
            Whether to include detailed information
            If set to true, all details are returned
            Flag to get more information
        include_details boolean false:
            Whether details should be included in the answer
            Set to true to get the full details
            Indicates if details are part of the result
        include_archived boolean false:
            Whether archived entries are included
            If true, the archived ones are returned, too
            Flag for including items in the archive
        include_history boolean false:
            Whether to include historical data
            If true, earlier values are part of the answer
            Indicates whether the history is returned
        active_only boolean true:
            Whether only the active ones are returned
            If true, inactive entries are left out
            Flag for filtering out what is not active
        exact_match boolean false:
            Whether the name must match exactly
            If true, partial matches are ignored
            Indicates whether to search for an exact match
        start_date string -:
            The start date in the format YYYY-MM-DD
            First day of the period, e.g. '2023-01-01'
            Start of the date range
        end_date string -:
            The end date in the format YYYY-MM-DD
            Last day of the period, e.g. '2023-12-31'
            End of the date range
        date string today:
            The date for the request, in the format 'YYYY-MM-DD'
            Date of interest
            The day to get the information for
        since string -:
            Only entries created after this date
            The earliest date to be considered, in ISO 8601 format
            Start of the time range
        year integer 2023:
            The year to be considered
            Year of the data, for example 2023
            The year in question
        month integer -:
            The month, from 1 to 12
            Month of the year as a number
            The month to get data for
        period string month day week month year:
            The time period to look at
            Time frame for the data
            The period over which values are taken
        time_range string 30d 24h 7d 30d 1y:
            The time range for the query
            Range of time that the results are from
            How far to look back
        sort_by string name name date relevance:
            The field to sort by
            How to sort the results
            Criterion for sorting
        sort_order string asc asc desc:
            The order of the results
            Sort order, ascending or descending
            Direction in which the results are sorted
        order string desc asc desc:
            Order in which results are returned
            The direction of the sort
            Ascending or descending order
        fields array -:
            A list of fields to include in the response
            Names of the fields to return
            The fields that the answer should have
        tags array -:
            List of tags to filter by
            Tags that an entry must have
            The tags to look for
        categories array -:
            The categories to include
            List of categories of interest
            Categories by which the results are filtered
        ids array -:
            List of identifiers to retrieve
            The IDs of the entries
            Identifiers of the items, if only some are needed
        filters object -:
            Additional filters for the search
            Conditions that the results have to meet
            A set of filter criteria
        options object -:
            Additional options for the request
            Further settings
            An object with optional settings
        format string json json csv xml:
            The format of the output
            Output format of the result
            In which format the data is returned
        output_format string text text json html:
            The desired output format
            Format of the returned document
            How the output is formatted
        detail_level string summary summary standard full:
            The level of detail in the response
            How much detail to return
            The amount of information to be given
        status string any active inactive any:
            Status to filter by
            The current status of the entries
            Only entries in this state are returned
        type string all:
            The type of entry to look for
            Type of the item, e.g. 'standard'
            The kind of result that is needed
        category string all:
            The category of interest
            Category to limit the results to
            Filter by a specific category
        query string -:
            A search query
            The text to search for
            Keywords to filter the results by
        keyword string -:
            A keyword to search for
            The word that should be in the result
            Keyword for filtering
        name string -:
            The name of the entry
            Name to look for
            The full name, if known
        description string -:
            A short description
            Description of the item
            Text that describes the purpose
        note string -:
            A note to add to the request
            Optional text for the record
            Comment for the entry
        user_id string -:
            The unique identifier of the user
            ID of the user making the request
            The user's ID
        account_id string -:
            The account ID
            Identifier of the account to use
            ID of the account that the request is for
        project string -:
            The name of the project
            Project to which it belongs
            Project in which to look
        source string all:
            The source of the data
            Where the data comes from
            Source to be used for the lookup
        version string latest:
            The version to use, e.g. '1.0'
            Version number
            The specific version to get
        radius number 10:
            The radius of the search in miles
            Search radius
            Maximum distance in kilometers
        threshold number 0.5:
            The threshold value to be used
            Minimum score of a match, between 0 and 1
            Lowest confidence that counts
        precision integer 2:
            Number of decimal places
            The number of decimals in the result
            How many digits are given after the decimal point
        timeout integer 30:
            The timeout in seconds
            Maximum time to wait for a response, in seconds
            Time limit for the request
        timezone string UTC:
            The time zone to use, e.g. 'UTC'
            Timezone for the dates in the answer
            Name of the timezone
        min_value number -:
            The minimum value to include
            Lower bound of the values
            The lowest value that is of interest
        max_value number -:
            The maximum value to include
            Upper bound of the values
            The highest value that is of interest
        refresh boolean false:
            Whether cached data is to be renewed
            If true, the cache is not used
            Flag to force new data
        notify boolean false:
            Whether to send a notification
            If set to true, the user is notified
            Indicates if a notification is to be sent
        dry_run boolean false:
            Whether to check the request without running it
            If true, nothing is changed
            Flag for a trial run
        """
    )
)

DEFAULTS = (
    ". Default is {default}",
    ". Default is '{default}'",
    ". Defaults to {default}",
    " (default: {default})",
    ", default is {default}",
    " (optional, default is {default})",
    ". The default is {default}",
    ". Optional, defaults to {default}",
    ". If not provided, {default} is used",
)
"""How descriptions name what is taken where a parameter is left out."""
EXAMPLES: dict[str, tuple[str, ...]] = {
    "date": (" in the format YYYY-MM-DD", " (YYYY-MM-DD)", ", e.g. '2023-05-20'", " in ISO 8601 format"),
    "day": (" of the week", ", e.g. 'Monday'", " in the format YYYY-MM-DD"),
    "time": (" in 24-hour format", ", e.g. '14:30'", " in the format HH:MM"),
    "timestamp": (" in ISO 8601 format", " in seconds since the epoch", ", e.g. '2023-05-20T14:30:00'"),
    "language": (", e.g. 'en'", " as an ISO 639-1 code", ", such as 'English'"),
    "country": (", e.g. 'France'", " as an ISO code", ", for example 'Canada'"),
    "region": (", such as 'Europe'", ", for example 'us-east'", " to look in"),
    "city": (", e.g. 'Boston'", " and state, e.g. 'Boston, MA'", ", for example 'London'"),
    "place": (", e.g. 'Chicago, IL'", " to look for", ", such as 'Berlin'"),
    "currency": (", e.g. 'USD'", " as an ISO 4217 code"),
    "month": (", from 1 to 12", ", e.g. 'March'", " in the format YYYY-MM"),
    "year": (", e.g. 2023", " in four digits"),
    "url": (" to be used", ", starting with 'https'"),
    "postcode": (" to search near", " of the area", ", without spaces"),
    "id": (" in the system", "", " as a string", ", as it is stored"),
    "code": (" in upper case", " as printed", ""),
    "number": (" without spaces", " as a string", "", ", digits only"),
    "name": (" in full", " or part of it", "", " as registered"),
    "text": (" to be processed", " as a string", " to work on", ""),
    "topic": (" to look for", ", for example 'safety'", "", " or subject"),
    "": (
        *(
            " to look up",
            " of interest",
            " to use",
            " in question",
            " to get information about",
            " to be checked",
        ),
        *(" for the request", " to consider", " that is needed", ", if known", " as text", " to search for"),
        *(", as a string", " to be used", " (required)", " to retrieve", " to filter by", " to work with"),
    ),
}
"""What the description of a parameter goes on with, by the last word of its name."""
