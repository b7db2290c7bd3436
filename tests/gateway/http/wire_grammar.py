"""Requests as clients and attackers write them: valid ones, wrong ones, and mixtures, from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

_METHODS = (
    b"GET",
    b"POST",
    b"PUT",
    b"HEAD",
    b"DELETE",
    b"get",
    b"CONNECT",
    b"G T",
    b"",
    b"P\x00ST",
    b"M-SEARCH",
)
_TARGETS = (
    *(
        b"/",
        b"/v1/chat/completions",
        b"/a?b=c&d=%2F",
        b"/a?b?c",
        b"http://h/p?q",
        b"HTTPS://h:1",
        b"http://h?q",
    ),
    *(b"*", b"/a b", b"/\x80", b"/#f", b"//x", b"", b"a", b"h:443", b"/\x7f", b"ftp://h/", b"/a\tb"),
)
_VERSIONS = (b"HTTP/1.0", b"HTTP/1.2", b"HTTP/2.0", b"HTTP/0.9", b"http/1.1", b"HTTP/1.1 ", b"HTTP/11", b"")
_LENGTHS = (
    *(b"+5", b"5, 5", b"05", b"0x5", b"-1", b"5 5", b"9" * 20, b"", b"5,6", b"\xb2", b"5\x0b", b"5;", b"1e1"),
)
_CODINGS = (
    *(
        b"Chunked",
        b"CHUNKED",
        b"gzip, chunked",
        b"chunked, chunked",
        b"xchunked",
        b"identity",
        b"\x0bchunked",
    ),
    *(b"chunked\x00", b'"chunked"', b"chunked;q=1", b"", b"chunked,", b"gzip"),
)
_FIELDS = (
    *(
        b"connection: close",
        b"connection: keep-alive",
        b"Connection: Close, x",
        b"connection: keep-alive, close",
    ),
    *(
        b"expect: 100-continue",
        b"upgrade: h2c\r\nconnection: upgrade",
        b"te: trailers",
        b"x: \xff\xfe",
        b"x:",
    ),
    *(
        b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: a",
        b"X-Y: a\tb",
        b"a: b:c",
        b"x: \t y \t",
    ),
    *(b"x: a\r\n b", b"x: a\r\n\tb", b" x: a", b"x : a", b": a", b"x", b"x: a\x00b", b"x: a\rb", b"x: a\nb"),
    *(
        b"x: a\x0bb",
        b"x: \x1b[1m",
        b"x\x00: a",
        b"(x): a",
        b"\xe9: a",
        b"x: a\r",
        b"host: y",
        b"Content-Length: 0",
    ),
    *(
        b"X-Crosswind-Session: a",
        b"x-crosswind-session:b\x7f",
        b"x-crosswind-Task: \tc d",
        b"x-crosswind-task:",
    ),
    *(b"transfer-encoding: chunked", b"Transfer_Encoding: chunked", b"content-length : 5"),
)
_ENDS = (b"\n", b"\r", b"\r\r\n", b"\n\r", b"")
_EXTENSIONS = (
    b";a=b",
    b";a",
    b"; a=b",
    b";",
    b";a=\x00",
    b";a\n",
    b" ",
    b"\t",
    b" ;a",
    b';a="\r\n"',
    b";\x7f",
)
_SIZES = (b"0x5", b"+5", b"-5", b"5 5", b"", b"g", b"f" * 17, b"f" * 16, b"\xb5", b"5_0")
_TRAILERS = (
    b"a: b\r\n",
    b"content-length: 5\r\n",
    b"a: b\r\nc: d\r\n",
    b" a\r\n",
    b"a\r\n",
    b"a: b\n",
    b"a: \x00\r\n",
)


def requests(random: Random) -> bytes:
    """Up to four requests in a row, whole or broken."""
    wrong = random.choice((0.0, 0.0, 0.02, 0.1))
    data = b"".join(_request(random, wrong) for _ in range(random.choice((1, 1, 2, 3, 4))))
    for _ in range(random.choice((0, 0, 0, 1, 1, 3))):
        data = _mutate(random, data)
    return data


def split(random: Random, data: bytes) -> Iterator[bytes]:
    """The parts in which they arrive: together, in some, or byte by byte."""
    match random.choice(("together", "some", "some", "bytewise")):
        case "together":
            yield data
        case "some":
            places = sorted({random.randrange(len(data) + 1) for _ in range(random.randrange(1, 5))})
            yield from (data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True) if a < b)
        case _:
            yield from (data[at : at + 1] for at in range(len(data)))


def _one(random: Random, wrong: float, right: bytes, others: tuple[bytes, ...]) -> bytes:
    return random.choice(others) if random.random() < wrong else right


def _request(random: Random, wrong: float) -> bytes:
    end = _one(random, wrong / 4, b"\r\n", _ENDS)
    usual = random.choice((b"GET", b"POST", b"PUT", b"HEAD"))
    line = b" ".join(
        (
            _one(random, wrong, usual, _METHODS),
            _one(random, wrong, random.choice(_TARGETS[:5]), _TARGETS),
            _one(random, wrong, random.choice((b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0")), _VERSIONS),
        )
    )
    fields = [] if random.random() < wrong else [random.choice((b"host: x", b"Host:x", b"HOST: \tx"))]
    fields += [_one(random, wrong, random.choice(_FIELDS[:12]), _FIELDS) for _ in range(random.randrange(3))]
    body = bytes(random.choices(b"x\n\r\x00", (20, 1, 1, 1), k=random.randrange(40)))
    match random.choice(("none", "none", "length", "length", "chunks", "chunks", "both")):
        case "length":
            fields.append(b"content-length: " + _one(random, wrong, b"%d" % len(body), _LENGTHS))
        case "chunks":
            fields.append(b"transfer-encoding: " + _one(random, wrong, b"chunked", _CODINGS))
            body = _chunks(random, wrong, body)
        case "both" if wrong:
            fields += (b"content-length: %d" % len(body), b"transfer-encoding: chunked")
            body = _chunks(random, wrong, body)
        case _:
            body = b""
    random.shuffle(fields)
    return _one(random, wrong, b"", (b"\r\n", b"\n", b" ", b"\r")) + end.join([line, *fields, b"", body])


def _chunks(random: Random, wrong: float, body: bytes) -> bytes:
    out = []
    while body:
        size = random.randrange(1, len(body) + 1)
        number = random.choice((b"%x", b"%X", b"0%x")) % size
        extension = random.choice(_EXTENSIONS[:3]) if random.random() < 0.3 else b""
        out.append(_one(random, wrong, number, _SIZES) + _one(random, wrong, extension, _EXTENSIONS))
        out.append(
            _one(random, wrong / 2, b"\r\n", _ENDS) + body[:size] + _one(random, wrong / 2, b"\r\n", _ENDS)
        )
        body = body[size:]
    trailers = random.choice((b"", b"", _one(random, wrong, _TRAILERS[0], _TRAILERS)))
    out.append(random.choice((b"0", b"00")) + _one(random, wrong, b"\r\n", _ENDS) + trailers + b"\r\n")
    return b"".join(out)


def _mutate(random: Random, data: bytes) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    to = min(at + random.choice((1, 1, 2, 8, 30)), len(data))
    match random.choice(("drop", "double", "change", "insert", "cut")):
        case "drop":
            return data[:at] + data[to:]
        case "double":
            return data[:to] + data[at:]
        case "change":
            return data[:at] + bytes([random.choice((0, 9, 10, 13, 32, 58, 59, 127, 255))]) + data[at + 1 :]
        case "insert":
            return (
                data[:at]
                + random.choice((b"\r\n", b"\n", b"\r", b" ", b"\r\n ", b"\x00", b"0\r\n\r\n"))
                + data[at:]
            )
        case _:
            return data[:at]
