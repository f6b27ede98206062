"""Faulty on purpose, each in its own way: the verdict names what is wrong."""

from support.nats.servers import NatsServer, connected
from support.signals.faulty_workload import assert_each_has_its_name, fall_ill_and_live
from support.signals.ledger import Workload
from support.signals.observations import watches

from exporter.signals.verdict import Verdict


async def test_each_fault_has_its_name(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, watches(nats_server) as seen:
        faulty = await fall_ill_and_live(nats_server, client, seen)
        for watch in seen.all.values():
            assert_each_has_its_name(watch, faulty)


async def test_a_consumer_pulled_now_and_then_has_a_worker_until_it_stops(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, watches(nats_server, monitor=True) as seen:
        work = Workload(client, "ORDERS")
        await work.create()
        await work.publish(10)
        drained = await work.consumer("drained")  # each pull takes all
        partly = await work.consumer("partly")  # ten messages always remain
        slowly = await work.consumer("slowly")
        deserted = await work.consumer("deserted")
        every = ((drained, 25), (partly, 25), (slowly, 100))
        ledgers = (drained, partly, slowly, deserted)
        found: dict[str, list[set[int | None]]] = {each.consumer: [] for each in ledgers}

        async def live(seconds: int, *, pulled: bool) -> None:
            for second in range(0, seconds, 5):
                for ledger, interval in every:
                    if pulled and second % interval == interval - 5:
                        count = 50 if ledger is drained else interval // 5
                        got = await work.fetch(ledger.consumer, count)
                        sequences = [message.metadata.sequence.stream for message in got]
                        await work.response(ledger.consumer, sequences)
                await work.publish(1)
                seen.pass_time(5)
                if second % 15 == 10:
                    await seen.poll(*ledgers)
                    for ledger in ledgers:
                        verdicts = {result.verdict for result in seen.result(ledger)}
                        found[ledger.consumer].append(verdicts)

        await live(600, pulled=True)
        assert found["drained"] == [{None}] + [{Verdict.OK}] * 39
        assert found["partly"] == [{None}] + [{Verdict.OK}] * 39
        assert found["deserted"] == [{None}] + [{Verdict.NO_WORKER_PULLS}] * 39
        # At first a minute is allowed; from the second pull on its interval is known.
        assert set.union(*found["slowly"][14:]) == {Verdict.OK}

        for verdicts in found.values():
            verdicts.clear()
        await live(450, pulled=False)
        after = {name: all_.index({Verdict.NO_WORKER_PULLS}) * 15 for name, all_ in found.items()}
        assert after["deserted"] == 0
        assert 45 <= after["drained"] <= 120, after
        assert 45 <= after["partly"] <= 120, after
        assert 250 <= after["slowly"] <= 360, after
        for name, verdicts in found.items():  # and it stays so
            assert set.union(*verdicts[after[name] // 15 :]) == {Verdict.NO_WORKER_PULLS}
