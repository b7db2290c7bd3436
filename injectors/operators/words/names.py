"""What tools and parameters are called: conventional abbreviations, other names of the same, and variants."""

from __future__ import annotations

from collections.abc import Iterator


def _read_pairs(text: str) -> Iterator[tuple[str, str]]:
    for pair in text.split():
        word, _, short = pair.partition("=")
        yield word, short


def _read(lines: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in lines.strip().splitlines():
        key, _, rest = line.strip().partition(": ")
        found[key] = tuple(rest.split("|"))
    return found


ABBREVIATIONS = dict(
    _read_pairs(
        """
    account=acct address=addr administrator=admin aggregate=agg amount=amt analysis=anlys analyze=anlz
    application=app appointment=appt argument=arg arguments=args arrival=arr article=art asynchronous=async
    attachment=att attribute=attr authenticate=authn authentication=auth authorization=authz
    authorize=authz available=avail average=avg balance=bal batch=bat branch=br buffer=buf build=bld
    building=bldg business=biz calculate=calc calculation=calc calculator=calc calendar=cal cancel=cncl
    capital=cap category=cat certificate=cert change=chg channel=chan character=char characters=chars
    check=chk client=cli coefficient=coeff collection=coll column=col command=cmd comment=cmt
    comments=cmts commit=cmt company=co compare=cmp comparison=cmp component=comp condition=cond
    configuration=config configure=cfg connect=conn connection=conn content=cont context=ctx control=ctl
    conversion=conv convert=conv coordinate=coord coordinates=coords count=cnt country=cou coupon=cpn
    currency=curr current=cur customer=cust database=db date=dt decimal=dec default=def delete=del
    department=dept departure=dep describe=desc description=desc destination=dest detail=dtl
    details=dtls developer=dev dictionary=dict difference=diff directory=dir discount=disc distance=dist
    document=doc documents=docs duration=dur dynamic=dyn electric=elec element=elem employee=emp
    engine=eng environment=env equation=eq error=err estimate=est event=evt events=evts exchange=exch
    execute=exec execution=exec expense=exp experience=exp expression=expr extension=ext external=ext
    feature=feat field=fld filter=flt flight=flt format=fmt frequency=freq function=func generate=gen
    generation=gen group=grp history=hist hour=hr hours=hrs identifier=id image=img images=imgs
    import=imp increment=incr index=idx information=info initial=init initialize=init integer=int
    interest=int interface=iface internal=intl international=intl interval=intvl inventory=inv
    invoice=inv issue=iss item=itm items=itms label=lbl language=lang latitude=lat length=len level=lvl
    library=lib license=lic limit=lim list=lst location=loc longitude=lon maintenance=maint manage=mng
    management=mgmt manager=mgr market=mkt match=mtch matrix=mtx maximum=max medical=med medicine=med
    meeting=mtg member=mbr memory=mem message=msg messages=msgs method=meth metric=metr minimum=min
    minute=min minutes=mins mobile=mob model=mdl modify=mod module=mod molecule=mol monitor=mon
    mortgage=mtge multiple=mult mutation=mut navigate=nav network=net notification=notif number=num
    numbers=nums object=obj operation=op operator=op option=opt options=opts order=ord orders=ords
    organization=org original=orig output=out package=pkg page=pg parameter=param parameters=params
    password=pwd patient=pt payment=pmt percent=pct percentage=pct period=per permission=perm
    person=pers photo=pic picture=pic point=pt points=pts policy=pol population=pop portfolio=pf
    position=pos predict=pred prediction=pred preference=pref preferences=prefs previous=prev price=prc
    probability=prob process=proc product=prod products=prods profile=prof program=prog project=proj
    property=prop provider=prov quality=qual quantity=qty query=qry random=rand recommend=rec
    recommendation=reco record=rec records=recs reference=ref region=reg register=reg registration=reg
    remove=rm report=rpt repository=repo request=req requirement=reqmt reservation=resv reserve=rsv
    reset=rst resource=res response=resp restaurant=rest result=res retrieve=retr retweet=rt review=rev
    reviews=revs salary=sal schedule=sched search=srch second=sec seconds=secs section=sect security=sec
    select=sel sequence=seq server=srv service=svc services=svcs session=sess setting=setg settings=cfg
    shipping=ship simulate=sim source=src species=spec standard=std state=st statistics=stats
    status=stat stock=stk stocks=stks street=str string=str submit=sbmt subscription=subs summary=summ
    support=supp symbol=sym synchronize=sync system=sys table=tbl target=tgt technical=tech
    technology=tech temperature=temp template=tmpl temporary=tmp text=txt ticket=tkt tickets=tkts
    timestamp=ts token=tok total=tot track=trk traffic=traf transaction=txn transactions=txns
    transfer=xfer translate=transl translation=transl transport=transp travel=trvl triangle=tri
    university=univ update=upd upload=upl user=usr username=uname users=usrs utility=util validation=val
    value=val values=vals variable=var vehicle=veh verify=vfy version=ver volume=vol watchlist=wlist
    weight=wt width=wd window=win zipcode=zip
        """
    )
)
"""Words and the abbreviation by which code has them. RobustBench-TC fixes `cou`, `cap` and `mut`."""

OTHER_NAMES = _read(
    """
    id: identifier|key|ref|number|code
    identifier: id|key|ref
    name: title|label|id
    title: name|heading|subject
    city: town|location|place
    town: city|place
    location: place|city|address|area
    place: location|venue|city
    address: location|street address|addr
    country: nation|region|country code
    region: area|zone|state
    state: status|region|province
    status: state|condition|phase
    date: day|timestamp|on
    day: date|weekday
    time: hour|at|timestamp
    datetime: timestamp|when
    start: begin|from|since
    end: until|to|stop
    from: source|start|origin
    to: target|end|destination
    origin: source|from|departure
    source: origin|from|input
    destination: target|to|arrival
    target: destination|goal|object
    query: search term|q|keywords|text
    keyword: term|query|phrase
    keywords: terms|query|tags
    text: content|body|message
    content: body|text|payload
    message: text|body|content
    body: content|text
    description: summary|details|text
    summary: description|abstract
    amount: sum|value|total
    value: amount|number|input
    total: sum|amount
    price: cost|amount|fare
    cost: price|amount
    count: number|limit|quantity
    limit: max results|count|top
    number: no|count|id
    quantity: count|amount|units
    type: kind|category|class
    kind: type|category
    category: type|group|section
    unit: units|measure
    units: unit|system
    user: account|username|customer
    username: user|login|handle
    customer: client|user|account
    account: user|account number|profile
    email: mail|address|e mail
    phone: telephone|mobile|number
    file: path|filename|document
    path: file|location|directory
    filename: file|path|name
    folder: directory|path
    directory: folder|path|dir
    url: link|address|uri
    link: url|href
    latitude: lat|y
    longitude: lon|lng|x
    language: lang|locale|target language
    currency: currency code|money|unit
    format: output format|type|style
    size: dimension|length|scale
    length: size|duration|distance
    width: breadth|w
    height: h|elevation
    weight: mass|w
    distance: range|length
    duration: length|period|time
    temperature: temp|degrees
    speed: velocity|rate
    velocity: speed|v
    rate: ratio|percentage|speed
    year: date|yr
    month: period|date
    period: range|interval|time frame
    page: offset|page number
    order: sort|order id|sequence
    sort: order by|ordering
    room: room type|unit
    item: product|article|entry
    items: products|entries|list
    product: item|article|sku
    symbol: ticker|code|name
    stock: ticker|symbol
    ticket: ticket id|issue|case
    password: secret|passcode
    token: access token|key|auth
    key: name|id|token
    code: id|symbol|key
    command: cmd|action|instruction
    action: operation|command|mode
    mode: type|option|action
    option: mode|choice|setting
    options: settings|choices|flags
    function: expression|formula
    radius: range|r
    area: region|surface
    color: colour|shade
    level: degree|grade
    priority: urgency|level
    artist: performer|author
    author: writer|creator
    genre: style|category
    ingredients: items|contents
    people: guests|persons|party size
    guests: people|persons
    """
)
"""Other names by which services have the same thing, of the last word of a name."""

TYPED = {
    "string": ("name", "value", "code", "text", "key"),
    "integer": ("count", "number", "value"),
    "number": ("value", "amount", "number"),
    "boolean": ("flag", "enabled", "mode"),
    "array": ("list", "items", "set"),
    "object": ("data", "info", "details"),
}
"""Words that names end with, by their type."""

VARIANTS = tuple(
    """
    v2 v3 v1 batch bulk async preview beta next new latest legacy extended full details info data by_id
    by_name ex plus advanced simple basic list all many multi single summary raw json stream paged cached sync
    now query request api service tool action helper internal public fast safe history report record records
    result results status state entry item items
    """.split()
)
"""Last words by which one service tells its tools of one purpose apart."""

VERBS = _read(
    """
    get: fetch|retrieve|read|load|query|show|lookup|find|list
    fetch: get|retrieve|load|pull|read
    retrieve: get|fetch|load|read
    find: search|lookup|get|locate|discover
    search: find|query|lookup|browse|list
    list: get|show|enumerate|fetch|find
    show: get|display|view|print
    display: show|print|view|render
    calculate: compute|calc|eval|determine|solve
    compute: calculate|calc|eval
    create: add|make|new|insert|register
    add: create|insert|append|put
    make: create|build|add
    update: edit|modify|change|set|patch
    modify: update|edit|change|set
    change: update|set|modify|edit
    edit: update|modify|change
    delete: remove|drop|erase|destroy
    remove: delete|drop|clear
    cancel: abort|revoke|void
    send: post|deliver|push|submit
    post: send|publish|submit
    book: reserve|order|create
    reserve: book|hold|request
    buy: purchase|order
    order: buy|request|place
    convert: transform|translate|change
    translate: convert|interpret
    check: verify|validate|get|test
    verify: check|validate|confirm
    validate: check|verify
    generate: create|make|produce|build
    start: begin|launch|run|open
    stop: end|halt|close|pause
    open: start|load|view
    close: end|shut|finish
    set: put|update|change|assign
    play: start|run|queue
    read: get|load|view|open
    write: save|put|store|set
    move: transfer|shift|relocate
    copy: clone|duplicate
    estimate: predict|calculate|guess
    predict: estimate|forecast
    analyze: examine|inspect|evaluate
    view: show|get|read
    run: execute|start|invoke
    execute: run|invoke|perform
    submit: send|post|file
    return: give|refund
    """
)
"""Verbs by which services name the same deed, of a name's first word."""
