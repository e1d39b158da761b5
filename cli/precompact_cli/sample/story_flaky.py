"""The middle of the day: three tests that fail now and then, and a break."""

from __future__ import annotations

from random import Random

from precompact_cli.sample import printed
from precompact_cli.sample.conversation import Desk
from precompact_cli.sample.workbench import Failure

WAITLIST = "tests/waitlist/test_service.py::test_candidates"
TIDES = "tests/tides/test_service.py::test_replace_forecast"
VESSELS = "tests/vessels/test_service.py::test_rename"


def hunt(desk: Desk, rng: Random) -> None:
    """Soak, find, repair, soak again over lunch."""
    desk.talk.user(
        "Before we go on: CI is red about every third run and nobody knows why. It's not your change, it was so before. Can you find the "
        "flaky tests with `make soak` and fix the causes? Don't just rerun or skip them, and don't raise any timeouts.",
        48.0,
    )
    broken = {3: WAITLIST, 4: TIDES, 9: WAITLIST, 12: VESSELS, 17: WAITLIST}
    desk.talk.work(
        "I let it run to the end instead of stopping at the first failure.",
        desk.bash(
            "for i in $(seq 20); do uv run pytest -q -p randomly -p no:cacheprovider; done",
            printed.soak(rng, 20, len(desk.bench.nodes()), broken),
            412.0,
            failed=True,
        ),
    )
    desk.talk.say(
        "Five of twenty runs failed, with three different tests: `waitlist::test_candidates` (3 times), `tides::test_replace_forecast` (once) and `vessels::test_rename` (once). I take them one by one, the frequent one first."
    )
    desk.talk.user("OK, go ahead.", 15.0)
    _repair_waitlist(desk)
    _repair_tides(desk)
    _repair_vessels(desk)
    desk.talk.work(
        "All three repaired. Now the long run in the background, forty rounds this time.",
        desk.bash(
            "nohup sh -c 'for i in $(seq 40); do uv run pytest -q -p randomly; done' > var/soak.log 2>&1 &",
            "[1] 48213",
            0.2,
        ),
    )
    desk.talk.say(
        "The soak run takes about twenty minutes. When it is done I would measure the limiter under load."
    )
    desk.talk.user("Back from lunch. Is the soak run through?", 1_214.0)
    desk.talk.work(
        "",
        desk.bash(
            "grep -c passed var/soak.log; grep FAILED var/soak.log; tail -n 60 var/soak.log",
            "40\n" + printed.soak(rng, 12, len(desk.bench.nodes()), {}),
            0.5,
        ),
    )
    desk.talk.say("Forty of forty runs are green. Shall I go on with the load test?")
    desk.talk.user("Yes please. Use two API processes, as in production.", 37.0)


def _repair_waitlist(desk: Desk) -> None:
    talk, folder = desk.talk, "src/harbor/waitlist"
    talk.work(
        "",
        desk.read(f"{folder}/service.py"),
        desk.read("tests/waitlist/test_service.py"),
        desk.read(f"{folder}/models.py"),
    )
    failure = {
        WAITLIST: Failure(
            "assert (first.id, second.id) == (1, 2)",
            (
                "assert (2, 1) == (1, 2)",
                "",
                "  At index 0 diff: 2 != 1",
                "  Full diff:",
                "    (",
                "  -     1,",
                "        2,",
                "  +     1,",
                "    )",
            ),
        )
    }
    talk.work(
        "Let me run it with the seed of run 3.",
        desk.bash(
            "uv run pytest -q -p randomly -p 'randomly_seed=2884193' " + WAITLIST,
            desk.bench.tests("tests/waitlist/test_service.py", failure, took_s=0.9),
            2.2,
            failed=True,
        ),
    )
    talk.work(
        "Two wishes with the same score: their order is that of a set, and so of the hash seed. It is a bug of the service and not of the test: who wished first must be first.",
        desk.edit(
            f"{folder}/service.py",
            "fitting = {w for w in await self.store.waiting() if w.min_length_m <= berth.length_m}",
            "fitting = [w for w in await self.store.waiting() if w.min_length_m <= berth.length_m]",
        ),
        desk.edit(
            f"{folder}/service.py",
            "return sorted(fitting, key=lambda w: -scores[w])",
            "return sorted(fitting, key=lambda w: (-scores[w], w.wished_at, w.id))",
        ),
    )
    talk.work(
        "Are there other places that sort what came out of a set?",
        desk.grep(r"sorted\(", "src/harbor/"),
        desk.grep(r"= \{\w+ for ", "src/harbor/", 2),
    )
    talk.work(
        "",
        desk.bash(
            f"for s in $(seq 60); do PYTHONHASHSEED=$s uv run pytest -q {WAITLIST} | tail -n 1; done | sort | uniq -c",
            "     60 1 passed in 0.41s",
            71.0,
        ),
    )


def _repair_tides(desk: Desk) -> None:
    talk, folder = desk.talk, "src/harbor/tides"
    talk.work(
        "Next: tides. One failure in twenty, in run 4.",
        desk.read(f"{folder}/service.py"),
        desk.read("tests/tides/test_service.py"),
        desk.read(f"{folder}/store.py"),
    )
    failure = {
        TIDES: Failure(
            "assert await service.replace_forecast(tide, [make_tide()]) == 1",
            (
                "assert 0 == 1",
                " +  where 0 = replace_forecast(Tide(id=1, gauge='outer', ...), [Tide(id=1, gauge='outer', ...)])",
            ),
        )
    }
    talk.work(
        "The hour may matter. I set the clock of the machine's container forward.",
        desk.bash(
            f"faketime '2026-03-10 23:30:00' uv run pytest -q {TIDES}",
            desk.bench.tests("tests/tides/test_service.py", failure, took_s=0.7),
            3.0,
            failed=True,
        ),
    )
    talk.work(
        "Between 23:00 and midnight UTC it always fails: `high_at.date()` is the day in UTC, the store compares with the day at the quay.",
        desk.grep(r"\.date\(\)", "src/harbor/"),
        desk.grep(r"quay_timezone|ZoneInfo", "src/harbor/"),
    )
    talk.interrupted(
        "I'd make the service convert with a zone of its own.",
        desk.bash(
            "sed -i 's/row.high_at.date()/row.high_at.astimezone(ZoneInfo(\"Europe\\/Oslo\")).date()/' src/harbor/tides/service.py",
            "The user doesn't want to take this action right now.",
            0.0,
            failed=True,
        ),
        "Don't hard-code the zone. The clock knows the quay's zone already; give it a `day_of(moment)` and use that everywhere.",
    )
    talk.work(
        "Better: one place that knows what a day is.",
        desk.edit(
            "src/harbor/clock.py",
            "    def today(self) -> date:\n        return self.now().astimezone(self._zone).date()\n",
            "    def today(self) -> date:\n        return self.day_of(self.now())\n\n    def day_of(self, moment: datetime) -> date:\n        return moment.astimezone(self._zone).date()\n",
        ),
        desk.edit(
            "src/harbor/clock.py",
            "    def today(self) -> date: ...\n",
            "    def today(self) -> date: ...\n\n    def day_of(self, moment: datetime) -> date: ...\n",
        ),
        desk.edit(
            "tests/fakes.py",
            "    def today(self) -> date:\n        return self._now.date()\n",
            "    def today(self) -> date:\n        return self.day_of(self._now)\n\n    def day_of(self, moment: datetime) -> date:\n        return moment.astimezone(QUAY).date()\n",
        ),
    )
    talk.work(
        "",
        desk.edit(
            "tests/fakes.py",
            "from datetime import UTC, date, datetime, timedelta\n",
            'from datetime import UTC, date, datetime, timedelta\nfrom zoneinfo import ZoneInfo\n\nQUAY = ZoneInfo("Europe/Oslo")\n',
        ),
        desk.edit(
            f"{folder}/service.py",
            "open_days = {row.high_at.date() for row in rows}",
            "open_days = {self.clock.day_of(row.high_at) for row in rows}",
        ),
    )
    for plural, old, new in (
        ("waitlist", "wish.wished_at.date()", "self.clock.day_of(wish.wished_at)"),
        ("inspections", "inspection.started_at.date()", "self.clock.day_of(inspection.started_at)"),
    ):
        talk.work(f"The same in {plural}.", desk.edit(f"src/harbor/{plural}/service.py", old, new))
    talk.work(
        "",
        desk.bash(
            'for h in 00 06 12 18 22 23; do faketime "2026-03-10 $h:30:00" uv run pytest -q tests/tides tests/waitlist tests/inspections | tail -n 1; done',
            "\n".join(
                f"{3 * len(desk.bench.nodes('tests/tides/'))} passed in {1.2 + 0.07 * number:.2f}s"
                for number in range(6)
            ),
            19.0,
        ),
    )


def _repair_vessels(desk: Desk) -> None:
    talk = desk.talk
    talk.work(
        "The last one.",
        desk.read("src/harbor/vessels/service.py"),
        desk.read("tests/vessels/test_service.py"),
        desk.read("src/harbor/vessels/models.py"),
    )
    failure = {
        VESSELS: Failure(
            "assert await aliases.of(vessel.id) == ['Marlin']",
            (
                "AssertionError: assert ['Tern', 'Marlin'] == ['Marlin']",
                "  At index 0 diff: 'Tern' != 'Marlin'",
                "  Left contains one more item: 'Marlin'",
            ),
        )
    }
    talk.work(
        "It fails only behind another test of the file, so something lives on between them.",
        desk.bash(
            "uv run pytest -q -p randomly -p 'randomly_seed=771203' tests/vessels",
            desk.bench.tests("tests/vessels/", failure, took_s=1.6),
            3.1,
            failed=True,
        ),
    )
    talk.work("", desk.grep(r"aliases", "tests/"), desk.grep(r"aliases", "src/harbor/"))
    talk.work(
        "`aliases` is one list for the whole module. It becomes a fixture, new for each test.",
        desk.edit(
            "tests/vessels/test_service.py",
            "@pytest.fixture\ndef vessel() -> Vessel:\n",
            "@pytest.fixture\ndef aliases() -> FakeAliases:\n    return FakeAliases()\n\n\n@pytest.fixture\ndef vessel() -> Vessel:\n",
        ),
        desk.edit(
            "tests/vessels/test_service.py",
            "from tests.fakes import FakeClock, FakeStore, utc\n",
            "from tests.fakes import FakeAliases, FakeClock, FakeStore, utc\n",
        ),
    )
    talk.work(
        "",
        desk.edit(
            "tests/fakes.py",
            "def grant(*scopes: str)",
            'class FakeAliases:\n    """Former names, by vessel."""\n\n    def __init__(self) -> None:\n        self._names: dict[int, list[str]] = {}\n\n    async def add(self, vessel_id: int, name: str) -> None:\n        self._names.setdefault(vessel_id, []).append(name)\n\n    async def of(self, vessel_id: int) -> list[str]:\n        return self._names.get(vessel_id, [])\n\n\ndef grant(*scopes: str)',
        ),
    )
    talk.work("", desk.test("tests/vessels/", None, 1.3))
