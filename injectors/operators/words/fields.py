"""Words of fields' names that say what kind of value a field of a tool's result holds."""

from __future__ import annotations

from crosswind.injectors.text.word_lists import make_words

NAMING = make_words(
    """
    id ids uuid guid number numbers no nr num code codes key keys token tokens email emails mail phone tel
    mobile fax zip zipcode postcode postal url uri href link links sku isbn iban bic swift ref refs
    reference hash sha md5 digest checksum etag cursor handle slug user username login account card cards
    serial vin plate port pin otp password secret path paths file files filename filenames folder dir
    directory page pages limit offset index idx position rank ordinal seq sequence line lines row version
    revision nonce signature ip host hostname mac address addresses name names title titles label subject
    symbol ticker
    """
)
"""Last words of fields that name a thing, or its place in a list: calls need them as they are."""

PROTOCOL = make_words(
    """
    type role jsonrpc object kind format encoding mimetype contenttype iserror success ok error errors
    statuscode httpstatus exitcode returncode code schema unit units uom currency currencycode locale lang
    language timezone tz count totalcount numresults total_results annotations
    """
)
"""Whole names, without separators, of fields of the envelope: false ones would be errors, not false facts."""

OUTCOMES = make_words("success ok error fail failed failure done true false null none")
"""Words by which a call says how it went."""

DONE = make_words(
    """
    success successful ok status sent created confirmed cancelled canceled deleted added removed booked
    updated saved done completed result valid found exists accepted approved submitted delivered posted
    authenticated authentication logged reacted error failed
    """
)
"""Words of fields whose truth value says how the call went: what stands beside says the same."""

TIMES = make_words(
    """
    time times at date timestamp ts created updated modified expires expiry epoch since until start end
    started ended last seen synced fetched
    """
)
"""Words of fields whose long numbers are times."""

UPDATES = make_words(
    """
    updated modified synced fetched refreshed observed generated asof checked seen last measured sampled
    recorded messung gemessen
    """
)
"""Words of fields that say how fresh a record is."""

AMOUNTS = make_words(
    """
    amount price cost fee fare total subtotal balance salary revenue income population bytes size area
    distance volume value budget tax discount sum
    """
)
"""Words of fields whose numbers are amounts however long they are."""

MONEY = make_words(
    """
    price prices cost costs fee fees fare fares salary wage revenue income budget tax taxes discount payment
    charge charges deposit rent insurance insured eur euro euros usd gbp chf jpy cny dollars preis preise
    kosten gebühr gebuehr voucher vouchers credit refund gutschein gutscheine guthaben betrag rabatt
    ermäßigung ermaessigung bon importe precio precios tarifa descuento saldo prix tarif remise montant solde
    料金 価格 値段
    """
)
"""Words of fields whose numbers are sums of money."""

BOUNDED = make_words(
    "percent percentage pct humidity battery confidence probability rating score stars share "
    "ratio priority severity grade "
    "rank health spo spo2 sao2 saturation oxygen moisture"
)
"""Words of fields whose values have an upper end."""

COUNTERS = make_words(
    """
    views likes replies comments followers following visits visitors downloads stars forks shares reads
    messages points votes mileage odometer attempts retries sold bookings reviews steps uptime usage used
    issues commits members subscribers count unread plays
    """
)
"""Words of fields that only grow."""

MEASURED = make_words(
    """
    temperature temp humidity pressure speed velocity voltage volt current amperage power energy level
    distance weight mass length width height depth altitude elevation fuel battery mileage odometer heart
    pulse bpm glucose spo spo2 oxygen saturation co2 pm25 pm10 ppm lux brightness luminosity noise decibel rpm
    torque flow volume latency ping duration wind gust rain rainfall precipitation snow visibility uv ph
    moisture usage load cpu memory signal rssi frequency angle heading bearing tilt acceleration vibration
    radiation density concentration dew feelslike reading measurement range
    """
)
"""Words of fields that an instrument fills."""

SENSED = make_words(
    """
    state open closed locked on off motion occupied occupancy presence contact leak smoke alarm detected
    active engaged running charging door window lock valve switch condition conditions weather sky
    direction phase mode signal light level gear position tile cell
    """
)
"""Words of fields whose words and truth values a sensor gives."""

UNITS = make_words(
    """
    c f celsius fahrenheit kelvin kg grams lb lbs oz km meters metres cm mm mi miles ft feet kmh kph mph
    ms seconds minutes hpa kpa pa mbar psi volts mv amps ma watts kw kwh hz db dbm lux ppm pct percent rpm
    liters litres ml degrees
    """
)
"""Last words of fields that are units of measurements."""

FIXED = make_words(
    """
    dose dosage stars year runtime minutes id lat lon latitude longitude result distance width height
    """
)
"""Words of fields whose figures stay as they are as time goes by."""
