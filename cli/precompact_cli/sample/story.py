"""The day: a developer and an agent add rate limiting to "harbor", then hunt its flaky tests."""

from __future__ import annotations

from random import Random
from typing import Any

from precompact_cli.sample import limits_code as code
from precompact_cli.sample import printed, story_flaky, story_review
from precompact_cli.sample.conversation import Desk
from precompact_cli.sample.harbor import modules
from precompact_cli.sample.workbench import Failure

Module = dict[str, Any]


def tell(desk: Desk, rng: Random) -> None:
    """The whole day, chapter by chapter."""
    look_around(desk, rng)
    build_the_bucket(desk)
    connect_redis(desk)
    store_the_limits(desk)
    give_routes_their_costs(desk)
    prove_each_limit(desk)
    story_flaky.hunt(desk, rng)
    measure_under_load(desk, rng)
    story_review.administer(desk)
    story_review.quicken_declarations(desk, rng)
    story_review.answer_review(desk)
    hand_over(desk)


def look_around(desk: Desk, rng: Random) -> None:
    """The request, the lie of the land, the plan."""
    talk = desk.talk
    talk.user(
        "Since last week one client (bulk-sync, I think) hammers our API and everybody else gets slow answers. Please add "
        "rate limiting: a token bucket per API key, shared by all API processes. Limits differ by tenant. Have a look around "
        "first and tell me your plan before you write code.\n\nTwo things: never touch the payments module, it is being "
        "audited until the end of the quarter. And no new dependencies, please.",
        0.0,
    )
    talk.work(
        "I'll get an overview of the repository first.",
        desk.bash(
            "ls -l src/harbor tests migrations/versions",
            lambda: "\n\n".join(
                f"{folder}:\n{desk.bench.listing(folder)}"
                for folder in ("src/harbor/", "tests/", "migrations/versions/")
            ),
            0.3,
        ),
        desk.read("README.md"),
        desk.read("Makefile"),
        desk.read("pyproject.toml"),
    )
    talk.work(
        "Now the pieces every request passes.",
        *(desk.read(f"src/harbor/{name}.py") for name in ("app", "auth", "wiring", "request_log")),
    )
    talk.work("", *(desk.read(f"src/harbor/{name}.py") for name in ("errors", "keys", "settings", "clock")))
    talk.work(
        "And how tests get their client and their time.",
        desk.read("tests/conftest.py"),
        desk.read("tests/fakes.py"),
    )
    talk.work(
        "Let me see what really comes in.",
        desk.bash(
            "tail -n 120 var/log/harbor/requests.jsonl",
            printed.request_log(rng, 120, printed.at(10, 38)),
            0.4,
        ),
    )
    talk.work(
        "",
        desk.bash(
            "jq -r .tenant var/log/harbor/requests.jsonl | sort | uniq -c | sort -rn",
            "  48211 bulk-sync\n   9120 pilotage-app\n   8804 nordvik\n   8395 fjordline\n   8102 harbourcam\n   7733 skagen-yc",
            2.1,
        ),
        desk.grep(r"must_hold\(", "src/harbor/"),
    )
    talk.work(
        "One example of each style of module, to see where a cost could be declared.",
        desk.read("src/harbor/bookings/routes.py"),
        desk.read("src/harbor/tides/routes.py"),
        desk.read("src/harbor/bookings/store.py"),
        desk.read("src/harbor/tides/store.py"),
    )
    talk.say(
        "It is bulk-sync: 53 % of all requests in the log, mostly lists.\n\nPlan:\n\n"
        "1. `harbor/limits/bucket.py`: the arithmetic of a token bucket, pure, with `now` as an argument.\n"
        "2. `harbor/limits/take.lua` and `store.py`: the same in one Redis call, time from Redis, so that all processes share it.\n"
        "3. `harbor/limits/policy.py`: which limit holds for a tenant.\n"
        "4. `harbor/limits/cost.py`: a dependency, so that each route says what it costs. Lists cost more than single reads.\n"
        "5. 429 as a problem with code `too_many_requests` and a Retry-After header.\n\n"
        "Questions: should the limits of tenants live in the settings or in the database? And what should happen when Redis is down?"
    )
    talk.user(
        "Good plan. Limits in the database, with a default in the settings (20 per second, burst 40). If Redis is down let requests "
        "through, but log a warning, at most once a minute. Retry-After must be whole seconds, our Java clients cannot parse anything else.",
        95.0,
    )


def build_the_bucket(desk: Desk) -> None:
    """Pure arithmetic, and the first correction by the developer."""
    talk = desk.talk
    talk.work(
        "I start with the arithmetic.",
        desk.write("src/harbor/limits/__init__.py", '"""Rate limits by API key."""\n'),
        desk.write("src/harbor/limits/bucket.py", code.BUCKET),
        desk.write("tests/limits/test_bucket.py", code.BUCKET_TESTS),
    )
    broken = {
        "tests/limits/test_bucket.py::test_tokens_flow_in_with_time": Failure(
            "assert verdict.level.tokens == 0",
            (
                "assert 1.0000081062316895e-05 == 0",
                " +  where 1.0000081062316895e-05 = Level(tokens=1.0000081062316895e-05, at=1773133301.218846).tokens",
            ),
        ),
        "tests/limits/test_bucket.py::test_a_clock_that_goes_back_takes_nothing_away": Failure(
            "assert verdict.allowed",
            (
                "assert False",
                " +  where False = Verdict(allowed=False, level=Level(tokens=-3.0, at=99.0), retry_after=1.0).allowed",
            ),
        ),
    }
    talk.work("", desk.test("tests/limits/", broken, 0.3))
    talk.interrupted(
        "Two failures. The first is only rounding; I'll make the comparison approximate.",
        desk.bash(
            "sed -i 's/tokens == 0$/tokens == pytest.approx(0, abs=1e-3)/' tests/limits/test_bucket.py",
            "The user doesn't want to take this action right now.",
            0.0,
            failed=True,
        ),
        "No. We don't read the real clock in tests, ever: use FakeClock from tests/fakes.py. Always. That is in the README as well.",
    )
    talk.work(
        "You are right, that is a rule of the house and I read past it. The clock of the tests it is.",
        desk.edit("tests/limits/test_bucket.py", code.FLOWS_OLD, code.FLOWS_NEW),
    )
    talk.work(
        "",
        desk.edit(
            "tests/limits/test_bucket.py",
            "import time\n\nimport pytest\n\nfrom harbor.limits.bucket import Level, Limit, take\n",
            "import pytest\n\nfrom harbor.limits.bucket import Level, Limit, take\nfrom tests.fakes import FakeClock\n",
        ),
        desk.edit(
            "tests/limits/test_bucket.py",
            "def test_tokens_flow_in_with_time() -> None:",
            "def test_tokens_flow_in_with_time(clock: FakeClock) -> None:",
        ),
    )
    talk.work(
        "The second failure is a real one: a clock that goes back drained the bucket. That can happen after a Redis failover.",
        desk.edit("src/harbor/limits/bucket.py", code.TAKE_OLD, code.TAKE_NEW),
    )
    talk.work("", desk.test("tests/limits/", None, 0.2))


def connect_redis(desk: Desk) -> None:
    """The script, the store, the wiring."""
    talk = desk.talk
    talk.work(
        "Now the same in Redis.",
        desk.write("src/harbor/limits/take.lua", code.SCRIPT),
        desk.write("src/harbor/limits/store.py", code.STORE),
    )
    talk.work(
        "",
        desk.write("src/harbor/limits/policy.py", code.POLICY),
        desk.write("src/harbor/limits/cost.py", code.COST),
    )
    talk.work(
        "The error, with whole seconds in its header, rounded up so that nobody comes back too early.",
        desk.edit("src/harbor/errors.py", code.ERROR_OLD, code.ERROR_NEW),
        desk.edit(
            "src/harbor/errors.py",
            "from fastapi import FastAPI, Request\n",
            "from math import ceil\n\nfrom fastapi import FastAPI, Request\n",
        ),
    )
    talk.work(
        "",
        desk.edit(
            "src/harbor/errors.py",
            "    def facts(self) -> dict[str, object]:\n        return {}\n",
            "    def facts(self) -> dict[str, object]:\n        return {}\n\n    def headers(self) -> dict[str, str]:\n        return {}\n",
        ),
        desk.edit(
            "src/harbor/errors.py",
            'status_code=error.status, media_type="application/problem+json")',
            'status_code=error.status, headers=error.headers(), media_type="application/problem+json")',
        ),
    )
    for old, new in code.WIRING_EDITS:
        talk.work("", desk.edit("src/harbor/wiring.py", old, new))
    talk.work(
        "",
        desk.edit(
            "src/harbor/settings.py",
            "    default_page_size: int = 50\n",
            "    default_page_size: int = 50\n    limit_rate: float = Field(default=20, gt=0)\n    limit_burst: int = Field(default=40, ge=1)\n",
        ),
    )
    talk.work(
        "`Wiring.open` builds its values by position; I had better look at the result before I run anything.",
        desk.read("src/harbor/wiring.py", 20, 45),
        desk.grep(r"Wiring\(|cls\(pool", "src/"),
    )
    talk.work(
        "",
        desk.edit(
            "src/harbor/wiring.py",
            "            yield cls(pool, redis, KeyCache(pool, clock), clock, settings.key_pepper.get_secret_value())\n",
            "            default = Limit(settings.limit_rate, settings.limit_burst)\n            yield cls(\n                pool=pool,\n                redis=redis,\n                keys=KeyCache(pool, clock),\n                limits=Limits(pool, clock, default),\n                buckets=Buckets(redis, clock),\n                clock=clock,\n                pepper=settings.key_pepper.get_secret_value(),\n            )\n",
        ),
    )
    talk.work(
        "Lint and types, before it grows.",
        desk.bash(
            "make lint",
            "src/harbor/wiring.py:47:23: F821 Undefined name `Limit`\nFound 1 error.\nmake: *** [Makefile:16: lint] Error 1",
            6.2,
            failed=True,
        ),
    )
    talk.work(
        "",
        desk.edit(
            "src/harbor/wiring.py",
            "from harbor.limits.policy import Limits\n",
            "from harbor.limits.bucket import Limit\nfrom harbor.limits.policy import Limits\n",
        ),
    )
    talk.work(
        "",
        desk.bash(
            "make lint",
            "All checks passed!\n188 files already formatted\nSuccess: no issues found in 121 source files",
            14.0,
        ),
    )
    talk.work("The whole suite, since wiring touches everything.", desk.test("tests/", None, 33.7))


def store_the_limits(desk: Desk) -> None:
    """The migration, and the query that could not use its index."""
    talk = desk.talk
    names = [str(module["plural"]) for module in modules()]
    talk.work(
        "Now the table. How do the existing migrations look?",
        desk.glob("migrations/versions/*.py"),
        desk.read("migrations/versions/0013_inspections.py"),
    )
    talk.work("", desk.write("migrations/versions/0014_tenant_limits.py", code.MIGRATION))
    talk.work(
        "", desk.bash("uv run alembic upgrade head", printed.migrations(15, names, "tenant_limits"), 3.8)
    )
    talk.work(
        "And the way back, which CI checks.",
        desk.bash(
            "uv run alembic downgrade 0013 && uv run alembic upgrade head",
            'sqlalchemy.exc.ProgrammingError: (psycopg.errors.DuplicateTable) relation "tenant_limits" already exists\n[SQL:\nCREATE TABLE tenant_limits (\n    tenant text PRIMARY KEY,\n    ...\n]\n(Background on this error at: https://sqlalche.me/e/20/f405)',
            4.4,
            failed=True,
        ),
    )
    talk.work(
        "My downgrade did nothing. It has to drop the table.",
        desk.edit(
            "migrations/versions/0014_tenant_limits.py",
            "def downgrade() -> None:\n    pass\n",
            'def downgrade() -> None:\n    op.execute("DROP TABLE tenant_limits")\n',
        ),
    )
    talk.work(
        "",
        desk.bash(
            "psql -qc 'DROP TABLE tenant_limits' && uv run alembic stamp 0013 && uv run alembic upgrade head && uv run alembic downgrade 0013 && uv run alembic upgrade head",
            printed.migrations(15, names, "tenant_limits"),
            7.5,
        ),
    )
    talk.work(
        "What does the lookup cost with many tenants?",
        desk.bash(
            "psql -c \"EXPLAIN ANALYZE SELECT rate, burst FROM tenant_limits WHERE lower(tenant) = 'bulk-sync'\"",
            printed.query_plan(20_000, indexed=False),
            1.1,
        ),
    )
    talk.work(
        "`lower()` keeps it from its primary key. Tenant names are stored in lower case already, so the query need not fold anything.",
        desk.grep("tenant", "src/harbor/keys.py"),
        desk.edit("src/harbor/limits/policy.py", "WHERE lower(tenant) = $1", "WHERE tenant = $1"),
    )
    talk.work(
        "",
        desk.bash(
            "psql -c \"EXPLAIN ANALYZE SELECT rate, burst FROM tenant_limits WHERE tenant = 'bulk-sync'\"",
            printed.query_plan(20_000, indexed=True),
            0.9,
        ),
    )
    talk.say(
        "The limits are in the database now: 4.8 ms became 0.04 ms once the query could use its index. The migration goes up, down and up again.\n\nNext I'd go through the fourteen modules and give each list route a cost. Shall I decide the numbers from what the queries do?"
    )
    talk.user(
        "Yes, decide yourself, from 1 to 5, and write one line of reason each. Again: payments stays out of this, even if its routes then cost nothing.",
        61.0,
    )


def give_routes_their_costs(desk: Desk) -> None:
    """Module by module: read, judge, edit."""
    for module in modules():
        plural = module["plural"]
        tokens, reason = code.COSTS[plural]
        folder = f"src/harbor/{plural}"
        reading = [desk.read(f"{folder}/routes.py"), desk.read(f"{folder}/service.py")]
        if tokens > 1:
            reading.append(desk.read(f"{folder}/store.py"))
        desk.talk.work(
            f"{plural.capitalize()} next."
            if plural != "berths"
            else "Module by module, in the order of the migrations.",
            *reading,
        )
        path = f"{folder}/routes.py"
        desk.talk.work(
            reason,
            desk.edit(
                path,
                "from harbor.auth import Caller\n",
                "from harbor.auth import Caller\nfrom harbor.limits.cost import cost\n",
            ),
            desk.edit(path, '@router.get("")\n', f'@router.get("", dependencies=[cost({tokens})])\n'),
            desk.edit(
                path,
                f'@router.get("/{{{module["singular"]}_id}}")\n',
                f'@router.get("/{{{module["singular"]}_id}}", dependencies=[cost(1)])\n',
            ),
        )
    desk.talk.work(
        "All fourteen. Payments must be as it was.",
        desk.bash("git diff --stat", desk.bench.diff_stat, 0.2),
        desk.bash("git diff --stat -- src/harbor/payments", "", 0.1),
        desk.grep(r"cost\(\d\)", "src/harbor/"),
    )
    desk.talk.work("", desk.test("tests/", None, 35.1))
    desk.talk.say(
        "Every list and every single read has a cost; payments is untouched. What is missing is a test for each that the limit really holds, with a filled bucket instead of many requests."
    )
    desk.talk.user(
        "Fine. Put the cost into the test's name so that a change of the number is visible in the diff. Don't sleep in those tests.",
        44.0,
    )


def prove_each_limit(desk: Desk) -> None:
    """A test for each module, and a fixture they share."""
    fixture = '\n\n@pytest.fixture\nasync def buckets(client):\n    """Drain the caller\'s bucket so that `left` tokens are in it."""\n    redis = client._transport.app.state.wiring.redis\n\n    async def drain(key_id: int, left: int) -> None:\n        now = await redis.time()\n        await redis.hset(f"limit:{{{key_id}}}", mapping={"tokens": left, "at": now[0] + 60})\n\n    return drain\n'
    anchor = '        async with AsyncClient(transport=ASGITransport(app), base_url="http://harbor.test") as client:\n            yield client\n'
    desk.talk.work("A fixture first.", desk.edit("tests/conftest.py", anchor, anchor + fixture))
    for number, module in enumerate(modules()):
        plural, tokens = module["plural"], code.COSTS[module["plural"]][0]
        path, mark = f"tests/{plural}/test_routes.py", "async def test_extra_fields_are_refused"
        test = (
            f"async def test_list_{plural}_costs_{tokens}(client: AsyncClient, buckets) -> None:\n    await buckets(1, left={tokens - 1})\n"
            f'    answer = await client.get("/v1/{plural}", headers=grant("{plural}:read"))\n    assert answer.status_code == 429\n'
            '    assert answer.json()["code"] == "too_many_requests"\n    assert answer.headers["retry-after"].isdecimal()\n\n\n'
        )
        desk.talk.work("", desk.read(path), desk.edit(path, mark, test + mark))
        if number == 2:
            node = f"{path}::test_list_{plural}_costs_{tokens}"
            broken = {
                node: Failure(
                    "assert answer.status_code == 429",
                    ("assert 200 == 429", " +  where 200 = <Response [200 OK]>.status_code"),
                )
            }
            desk.talk.work(
                "Three of them; let me see whether they fail for the right reason when they fail.",
                desk.test(f"tests/{plural}/", broken, 2.9),
            )
            desk.talk.work(
                "The fixture drains key 1, but `grant` makes a key of its own for each set of scopes. It must ask for the id.",
                desk.grep(r"def grant", "tests/", 3),
                desk.edit(
                    "tests/conftest.py",
                    "    async def drain(key_id: int, left: int) -> None:\n",
                    "    async def drain(key_id: int, left: int) -> None:\n        key_id = client.headers.get('x-test-key-id', key_id)\n",
                ),
            )
            desk.talk.work("", desk.test(f"tests/{plural}/", None, 2.8))
    desk.talk.work("All of them together.", desk.test("tests/", None, 36.4))


def measure_under_load(desk: Desk, rng: Random) -> None:
    """The bucket leaks; why, and the repair."""
    talk = desk.talk
    talk.work(
        "A minute of load with twice the allowed rate, against two API processes.",
        desk.bash(
            "uv run python tools/load.py --seconds 60 --rate 40 --processes 2",
            printed.load_run(rng, 60, 20, leak=0.31),
            64.0,
        ),
    )
    talk.work(
        "31 % too much gets through. The pure version and the script must disagree somewhere.",
        desk.read("src/harbor/limits/take.lua"),
        desk.read("src/harbor/limits/bucket.py"),
    )
    talk.work(
        "There: the script rounds the level up at every call, so each request wins up to one token. The pure version does not round.",
        desk.edit("src/harbor/limits/take.lua", code.SCRIPT_OLD, code.SCRIPT_NEW),
    )
    talk.work(
        "",
        desk.bash(
            "uv run python tools/load.py --seconds 60 --rate 40 --processes 2",
            printed.load_run(rng, 60, 20),
            63.0,
        ),
    )
    talk.work(
        "Exactly the configured rate. A property test shall hold script and arithmetic together from now on.",
        desk.write("tests/limits/redis_clock.py", code.REDIS_CLOCK),
        desk.write("tests/limits/test_twins.py", code.TWIN_TESTS),
    )
    talk.work("", desk.test("tests/limits/", None, 4.1))
    talk.work(
        "And how the log looks now for everybody else.",
        desk.bash(
            "tail -n 90 var/log/harbor/requests.jsonl",
            printed.request_log(rng, 90, printed.at(11, 44), limited=True),
            0.4,
        ),
    )


def hand_over(desk: Desk) -> None:
    """Review of the whole change, changelog, commit."""
    talk = desk.talk
    talk.user(
        "Looks good. Please review your own diff once more, write a changelog entry, and commit. No mention of customers by name in the changelog.",
        130.0,
    )
    talk.work(
        "",
        desk.bash("git status --short", desk.bench.status, 0.2),
        desk.bash("git diff --stat", desk.bench.diff_stat, 0.3),
    )
    for folders in (
        ("src/harbor/limits/", "migrations/"),
        ("src/harbor/errors.py", "src/harbor/wiring.py", "src/harbor/settings.py"),
        tuple(f"src/harbor/{name}/" for name in ("berths", "bookings", "cargo", "crews")),
        ("tests/limits/", "tests/conftest.py", "tests/fakes.py"),
    ):
        talk.work("", desk.bash(f"git diff HEAD -- {' '.join(folders)}", desk.bench.diff(*folders), 0.3))
    talk.work(
        "One thing in the migration: it names a customer in a note. Not in the changelog, but it has no business in the code either.",
        desk.edit(
            "migrations/versions/0014_tenant_limits.py",
            "'nightly import, agreed by mail 2026-02-17'",
            "'nightly import'",
        ),
    )
    talk.work(
        "",
        desk.write(
            "CHANGELOG.md",
            "# Changes\n\n## Unreleased\n\n* Requests are limited by API key: a token bucket, 20 a second with bursts of 40 unless agreed otherwise. Lists cost more than\n  single reads. Refusals are 429 with code `too_many_requests` and whole seconds in `Retry-After`.\n* While Redis is away nothing is limited; a warning is logged once a minute.\n* Tests no longer depend on their order or on the hour of the day.\n",
        ),
    )
    talk.work(
        "The last full run, lint, and the promise about payments.",
        desk.test("tests/", None, 37.9),
        desk.bash(
            "make lint",
            "All checks passed!\n206 files already formatted\nSuccess: no issues found in 127 source files",
            13.2,
        ),
        desk.bash("git diff --stat HEAD -- src/harbor/payments", "", 0.1),
    )
    desk.bench.commit()
    talk.work(
        "",
        desk.bash(
            "git add -A && git commit -qm 'Limit requests by API key; make tests independent of order and hour' && git log --oneline -3",
            "b71c0de Limit requests by API key; make tests independent of order and hour\n5fa9e12 Show the tide table for the outer gauge\n0c44d7a Release 3.8.1",
            1.4,
        ),
    )
    talk.say(
        "Committed as b71c0de.\n\n* Rate limiting by API key is in, with limits for tenants in the database and 20/40 as the default.\n* Under load exactly the configured rate passes; other tenants are back at their usual 20 to 30 ms.\n* The three flaky tests are repaired at their cause, and 20 of 20 soak runs were green.\n* Payments was not touched.\n\nOpen: payments routes cost nothing until the audit is over; I left them alone, as you asked."
    )
