"""A body whose frame another session's body had is split by it, and read as it is without."""

from __future__ import annotations

import pytest

from crosswind.gateway.protocols.chat.codec import ChatCodec
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.messages.codec import MessagesCodec
from crosswind.gateway.protocols.request import SplitBody
from tests.gateway.protocols.codec_laws import read
from tests.gateway.protocols.test_documents import same

HEAD, TAIL = b'{"model": "m", "messages": [', b'], "tools": [{"a": [1]}]}'
USER = b'{"role": "user", "content": "Hi \xc3\xa9"}'
ASSISTANT = b'{"role": "assistant", "content": "Hello"}'


def split_after(codec: Codec, *bodies: bytes) -> SplitBody | None:
    splits = [codec.split(body) for body in bodies]
    return splits[-1]


@pytest.mark.parametrize("codec", [ChatCodec, MessagesCodec])
@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(b" %b ,\n%b" % (USER, ASSISTANT), id="spaces between"),
        pytest.param(USER + b" ", id="a space behind"),
        pytest.param(b", ".join([USER, ASSISTANT] * 3), id="several"),
        pytest.param(b"1", id="no object"),
        pytest.param(b"", id="none"),
        pytest.param(b", " + USER, id="a comma first"),
        pytest.param(USER + b"," + USER[:-1], id="no JSON"),
        pytest.param(USER + b'], "messages": [' + USER, id="the member twice"),
        pytest.param(USER + b'], "other": [' + USER, id="another member between"),
        pytest.param(b'{"role": "user", "content": "\xff"},' + USER, id="no UTF-8"),
        pytest.param(b'{"role": "user", "content": 7},' + USER, id="an odd message"),
    ],
)
def test_a_known_frame_changes_nothing(codec: type[Codec], messages: bytes) -> None:
    body = HEAD + messages + TAIL
    known, alone = split_after(codec(), HEAD + ASSISTANT + TAIL, body), split_after(codec(), body)
    assert (known is None) == (alone is None)
    if known is None or alone is None:
        return
    assert known.spans == alone.spans and known.document == alone.document
    assert (known.frame.key, known.frame.pieces) == (alone.frame.key, alone.frame.pieces)
    familiar = codec()
    familiar.split(HEAD + ASSISTANT + TAIL)
    one, other = read(familiar, body), read(codec(), body)
    assert one.conversation == other.conversation and one.digest() == other.digest()
    assert one.write({}, {}, same)[0] == body


def test_frames_that_end_alike_share_their_end() -> None:
    codec = ChatCodec()
    first, second = (
        read(codec, b'{"user": "%b", "messages": [%b%b' % (user, USER, TAIL)) for user in (b"a", b"b")
    )
    assert first.frame.head != second.frame.head and first.frame.tail is second.frame.tail
    assert first.digest() != second.digest()


def test_sessions_share_a_frame_and_no_edits() -> None:
    codec = ChatCodec()
    first, second = (read(codec, HEAD + message + TAIL) for message in (USER, ASSISTANT))
    assert first.frame is second.frame
    assert first.write({}, {"model": b'"n"'}, same)[0] == HEAD.replace(b'"m"', b'"n"') + USER + TAIL
    assert second.write({}, {}, same)[0] == HEAD + ASSISTANT + TAIL
