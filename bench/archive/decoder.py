"""Remote-write 1.0 requests decoded by our decoder and by the protobuf library, in one run."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, Final

import cramjam
import numpy as np
from numpy.typing import NDArray

from archive.remote_write.decoder import Decoder, Version
from archive.series.table import SeriesTable
from archive.settings.limits import Limits
from bench.archive.remote_write_load import Load
from bench.table import show

_NOW: Final = 1_790_553_600_000
_ROUNDS: Final = 12
Columns = tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.float64]]


def _messages() -> Any:
    """The class WriteRequest of remote write 1.0, built from its fields; raises ImportError."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="write.proto", package="bench")
    kinds = descriptor_pb2.FieldDescriptorProto
    fields = {
        "Label": [("name", 1, kinds.TYPE_STRING, ""), ("value", 2, kinds.TYPE_STRING, "")],
        "Sample": [("value", 1, kinds.TYPE_DOUBLE, ""), ("timestamp", 2, kinds.TYPE_INT64, "")],
        "TimeSeries": [("labels", 1, kinds.TYPE_MESSAGE, "Label"),
                       ("samples", 2, kinds.TYPE_MESSAGE, "Sample")],
        "WriteRequest": [("timeseries", 1, kinds.TYPE_MESSAGE, "TimeSeries")],
    }  # fmt: skip
    for name, entries in fields.items():
        message = file.message_type.add(name=name)
        for field, number, kind, of in entries:
            label = kinds.LABEL_REPEATED if of else kinds.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, type=kind, label=label)
            if of:
                added.type_name = f".bench.{of}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("bench.WriteRequest"))


def _library(message: Any) -> Callable[[bytes], Columns]:
    """The shortest way to the same columns: parse, find each series by its labels."""
    known: dict[tuple[tuple[str, str], ...], int] = {}

    def decode(body: bytes) -> Columns:
        request = message.FromString(bytes(cramjam.snappy.decompress_raw(body)))
        ids, times, values = [], [], []
        for series in request.timeseries:
            labels = tuple((label.name, label.value) for label in series.labels)
            number = known.setdefault(labels, len(known))
            for sample in series.samples:
                ids.append(number)
                times.append(sample.timestamp)
                values.append(sample.value)
        return np.array(ids, np.uint32), np.array(times, np.int64), np.array(values, np.float64)

    return decode


def _ours() -> Callable[[bytes], Columns]:
    decoder = Decoder(Limits(), "", SeriesTable())

    def decode(body: bytes) -> Columns:
        batch = decoder.decode(Version.V1, body, "bench", _NOW).batch
        return batch.series, batch.times, batch.values.view(np.float64)

    return decode


def _equal(one: Columns, two: Columns) -> bool:
    return all(
        bool(np.array_equal(a, b))
        for a, b in ((one[0], two[0]), (one[1], two[1]), (one[2], two[2]))
    )


def _measure(load: Load, ways: dict[str, Callable[[bytes], Columns]]) -> dict[str, list[float]]:
    """CPU seconds of each round but the first, which fills the caches; results must be equal."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for shards in load.rounds(_NOW, _ROUNDS):
        bodies = [body for shard in shards for body in shard]
        results = {}
        for name, decode in ways.items():
            started = time.process_time()
            results[name] = [decode(body) for body in bodies]
            seconds[name].append(time.process_time() - started)
        first, *others = results.values()
        for other in others:
            for one, two in zip(first, other, strict=True):
                if not _equal(one, two):
                    raise RuntimeError("the decoders disagree")
    return {name: each[1:] for name, each in seconds.items()}


def compare(load: Load) -> tuple[str, ...]:
    ways = {"ours": _ours(), "protobuf": _library(_messages())}
    found = _measure(load, ways)
    rate = {name: load.series / statistics.median(each) for name, each in found.items()}
    ratio = rate["ours"] / rate["protobuf"]
    return (f"{load.labels} labels", f"{rate['ours']:,.0f}", f"{rate['protobuf']:,.0f}", f"{ratio:.1f}x")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench archive_decoder", description=__doc__)
    parser.add_argument("--per-request", type=int, default=500, metavar="N")
    per_request = parser.parse_args().per_request
    try:
        rows = [compare(Load(1000, labels, per_request, 1)) for labels in (8, 20)]
    except ImportError:
        print("protobuf is not present: pip install protobuf")
        return
    show(
        f"Samples decoded per CPU second, {per_request} a request, equal results",
        ("", "ours", "protobuf", "ratio"),
        rows,
    )


if __name__ == "__main__":
    main()
