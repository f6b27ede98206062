"""Which failures of the seeds happen where; together all thirty numbers of their table."""

from __future__ import annotations

from typing import Final

from support.lab.failure import Failure
from support.lab.seeds.ack_floor import (
    Crash,
    Exhausted,
    LongAckWait,
    OutOfOrder,
    Poison,
    SlowTypes,
    UnlimitedPending,
)
from support.lab.seeds.clustered import ConsumerLeaderless, Diverged, SetBack
from support.lab.seeds.deduplication import (
    DedupeMemory,
    IdsMissing,
    IdsUnstable,
    RestartForgets,
    SourcedWithoutWindow,
    WindowShort,
)
from support.lab.seeds.redelivery import (
    AckWaitShort,
    Crashes,
    DownstreamHangs,
    DownstreamNaks,
    LateAcksDone,
    PoisonGivenUp,
    StuckWorkqueue,
)
from support.lab.seeds.sequence_mismatch import (
    Lag,
    LostAcks,
    MissedDeliveries,
    Recreated,
    RetentionOverran,
)
from support.lab.seeds.wrong_last_sequence import (
    KnownBadVersion,
    RacingWriters,
    StaleExpectation,
    StreamRecreated,
)

Kinds = tuple[type[Failure], ...]

ONE_SERVER: Final[Kinds] = (
    Lag, Recreated, LostAcks, RetentionOverran, MissedDeliveries,
    StaleExpectation, RacingWriters, StreamRecreated,
    WindowShort, IdsMissing, IdsUnstable, RestartForgets, DedupeMemory, SourcedWithoutWindow,
    OutOfOrder, Poison, SlowTypes, Crash, UnlimitedPending, LongAckWait, Exhausted,
    AckWaitShort, Crashes, DownstreamHangs, DownstreamNaks, PoisonGivenUp, LateAcksDone, StuckWorkqueue,
)  # fmt: skip
CLUSTER: Final[Kinds] = (SetBack, Diverged, ConsumerLeaderless)  # one after the other
OLD_SERVER: Final[Kinds] = (KnownBadVersion,)
ALL: Final = (*ONE_SERVER, *CLUSTER, *OLD_SERVER)
