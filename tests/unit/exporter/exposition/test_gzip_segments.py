"""Segments joined in any order are one gzip member that every reader accepts."""

from __future__ import annotations

import gzip
import os
import zlib
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from exporter.exposition.gzip_segments import Segment, compress, gzip_chunks, inflate, join_gzip

SEVERAL_TEXTS = st.lists(st.lists(st.binary(max_size=2_000), max_size=4), max_size=6)
GZIP = 31  # zlib's window bits for a stream with gzip header and trailer


def gunzip_first_member(body: bytes) -> bytes:
    """As a browser reads it; whatever follows the first member is a failure."""
    reader = zlib.decompressobj(GZIP)
    plain = reader.decompress(body)
    assert reader.eof
    assert reader.unused_data == b""
    return plain


@settings(max_examples=examples(100), deadline=None)
@given(texts=SEVERAL_TEXTS, order=st.randoms())
def test_joined_segments_are_one_gzip_member_in_any_order(
    texts: list[list[bytes]], order: Random
) -> None:
    segments = [(compress(chunks), b"".join(chunks)) for chunks in texts]
    order.shuffle(segments)
    body = join_gzip(segment for segment, _ in segments)
    plain = b"".join(text for _, text in segments)
    assert gunzip_first_member(body) == plain
    assert gzip.decompress(body) == plain


@settings(max_examples=examples(100), deadline=None)
@given(chunks=st.lists(st.binary(max_size=5_000), max_size=5))
def test_a_segment_gives_back_what_went_in(chunks: list[bytes]) -> None:
    segment = compress(chunks)
    plain = b"".join(chunks)
    assert b"".join(inflate(segment)) == plain
    assert segment.size == len(plain)
    assert segment.crc32 == zlib.crc32(plain)


def test_a_segment_ends_on_a_byte_and_is_not_the_last_block() -> None:
    for text in (b"", b"a", b"streamgauge_up 1\n" * 1_000):
        segment = compress([text])
        assert segment.data.endswith(b"\x00\x00\xff\xff")
        reader = zlib.decompressobj(-15)
        assert reader.decompress(segment.data) == text
        assert not reader.eof


def test_a_segment_does_not_refer_to_its_neighbour() -> None:
    text = os.urandom(3_000)
    first, second = compress([text]), compress([text])
    assert first.data == second.data
    assert gunzip_first_member(join_gzip([second, first])) == text + text


def test_no_segments_are_an_empty_gzip_body() -> None:
    assert gunzip_first_member(join_gzip([])) == b""


def test_the_trailer_holds_the_size_modulo_two_to_the_32() -> None:
    huge = Segment(b"", 0, 2**32 + 5)
    assert join_gzip([huge])[-4:] == (5).to_bytes(4, "little")


def test_a_large_segment_is_inflated_in_chunks() -> None:
    text = os.urandom(300_000)
    chunks = list(inflate(compress([text])))
    assert len(chunks) > 1
    assert b"".join(chunks) == text


def test_an_empty_segment_has_no_chunks() -> None:
    assert list(inflate(compress([]))) == []


def test_the_gzip_chunks_are_the_segments_themselves_and_not_copies() -> None:
    segment = compress([b"streamgauge_up 1\n"])
    assert any(chunk is segment.data for chunk in gzip_chunks([segment]))


def test_the_same_text_always_gives_the_same_bytes() -> None:
    assert join_gzip([compress([b"x" * 99])]) == join_gzip([compress([b"x" * 99])])
