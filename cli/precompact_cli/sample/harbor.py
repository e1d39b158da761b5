# ruff: noqa: Q001, S608 - templates of files, SQL included, that nobody runs
"""The source tree of "harbor", the made-up web service of the sample session: path -> text."""

from __future__ import annotations

import tomllib
from pathlib import Path
from textwrap import indent
from typing import Any

from precompact_cli.sample.harbor_core import CORE

Module = dict[str, Any]


def modules() -> list[Module]:
    """What `harbor.toml` says of the service's modules."""
    text = Path(__file__).with_name("harbor.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text)["module"])


def source_tree() -> dict[str, str]:
    """Every file of the service before the session begins."""
    tree = dict(CORE)
    for number, module in enumerate(modules()):
        folder, tests = f"src/harbor/{module['plural']}", f"tests/{module['plural']}"
        tree[f"{folder}/__init__.py"] = f'"""{module["about"]}"""\n'
        tree[f"{folder}/models.py"] = _models(module)
        tree[f"{folder}/store.py"] = (
            _class_store(module) if module["style"] == "class" else _function_store(module)
        )
        tree[f"{folder}/service.py"] = _service(module)
        tree[f"{folder}/routes.py"] = _routes(module, number)
        tree[f"{tests}/test_service.py"] = _service_tests(module)
        tree[f"{tests}/test_routes.py"] = _route_tests(module)
        tree[f"migrations/versions/{number:04d}_{module['plural']}.py"] = _migration(module, number)
    return tree


def _kind(module: Module) -> str:
    return str(module["singular"]).capitalize()


def _models(module: Module) -> str:
    kind, states = _kind(module), module["states"]
    names = "\n".join(f'    {state.upper()} = "{state}"' for state in states)
    fields = "\n".join(f"    {name}: {annotation}" for name, annotation, _ in module["fields"])
    reading = "\n".join(f'            {name}=row["{name}"],' for name, _, _ in module["fields"])
    moves = "\n".join(
        f"    {kind}Status.{state.upper()}: {{{_targets(kind, states, index)}}},"
        for index, state in enumerate(states)
    )
    return f'''"""{module["about"]}"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from enum import StrEnum
from typing import Any

from harbor.errors import IllegalMove


class {kind}Status(StrEnum):
{names}


MOVES: dict[{kind}Status, set[{kind}Status]] = {{
{moves}
}}


@dataclass(frozen=True)
class {kind}:
    """One {module["singular"]} as the database holds it."""

    id: int
{fields}
    status: {kind}Status
    revision: int
    created_at: datetime

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> {kind}:
        return cls(
            id=row["id"],
{reading}
            status={kind}Status(row["status"]),
            revision=row["revision"],
            created_at=row["created_at"],
        )

    def moved_to(self, status: {kind}Status) -> {kind}:
        if status not in MOVES[self.status]:
            raise IllegalMove("{module["singular"]}", self.id, self.status, status)
        return replace(self, status=status, revision=self.revision + 1)
'''


def _targets(kind: str, states: list[str], index: int) -> str:
    following = [*states[index + 1 : index + 3], *states[max(0, index - 1) : index]]
    return ", ".join(f"{kind}Status.{state.upper()}" for state in following)


def _columns(module: Module) -> str:
    return ", ".join(["id", *(name for name, _, _ in module["fields"]), "status", "revision", "created_at"])


def _class_store(module: Module) -> str:
    kind, plural = _kind(module), module["plural"]
    values = ", ".join(f"${index + 1}" for index in range(len(module["fields"]) + 1))
    names = ", ".join([*(name for name, _, _ in module["fields"]), "status"])
    given = ", ".join(f"{module['singular']}.{name}" for name, _, _ in module["fields"])
    return f'''"""Where {plural} are kept."""

from __future__ import annotations

from asyncpg import Connection

from harbor.errors import NotFound, StaleRevision
from harbor.{plural}.models import {kind}, {kind}Status
from harbor.paging import Page, after_cursor

COLUMNS = "{_columns(module)}"


class {kind}Store:
    """All SQL of this module; one instance for each request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get(self, {module["singular"]}_id: int) -> {kind}:
        row = await self._connection.fetchrow(f"SELECT {{COLUMNS}} FROM {plural} WHERE id = $1", {module["singular"]}_id)
        if row is None:
            raise NotFound("{module["singular"]}", {module["singular"]}_id)
        return {kind}.from_row(row)

    async def page(self, cursor: str | None, size: int, status: {kind}Status | None = None) -> Page[{kind}]:
        clause, arguments = after_cursor(cursor, "id")
        if status is not None:
            clause += f" AND status = ${{len(arguments) + 1}}"
            arguments.append(status.value)
        query = f"SELECT {{COLUMNS}} FROM {plural} WHERE {{clause}} ORDER BY id LIMIT {{size + 1}}"
        rows = await self._connection.fetch(query, *arguments)
        return Page.of([{kind}.from_row(row) for row in rows], size)

    async def insert(self, {module["singular"]}: {kind}) -> {kind}:
        query = f"INSERT INTO {plural} ({names}) VALUES ({values}) RETURNING {{COLUMNS}}"
        row = await self._connection.fetchrow(query, {given}, {module["singular"]}.status.value)
        return {kind}.from_row(row)

    async def update(self, {module["singular"]}: {kind}) -> {kind}:
        """Compare-and-set on the revision: two clerks must not overwrite each other."""
        query = f"UPDATE {plural} SET status = $3, revision = $4 WHERE id = $1 AND revision = $2 RETURNING {{COLUMNS}}"
        changed = ({module["singular"]}.id, {module["singular"]}.revision - 1, {module["singular"]}.status.value, {module["singular"]}.revision)
        row = await self._connection.fetchrow(query, *changed)
        if row is None:
            raise StaleRevision("{module["singular"]}", {module["singular"]}.id)
        return {kind}.from_row(row)
'''


def _function_store(module: Module) -> str:
    kind, plural, one = _kind(module), module["plural"], module["singular"]
    names = ",\n    ".join(
        ["id", *(name for name, _, _ in module["fields"]), "status", "revision", "created_at"]
    )
    binds = ", ".join(f":{name}" for name, _, _ in module["fields"])
    return f'''"""SQL for {plural}. Older than the class-based stores; same promises."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from harbor.errors import NotFound, StaleRevision
from harbor.{plural}.models import {kind}, {kind}Status

SELECT = """
SELECT
    {names}
FROM {plural}
"""

BY_ID = sa.text(SELECT + "WHERE id = :id")
NEWEST = sa.text(SELECT + "WHERE created_at > :since ORDER BY created_at DESC LIMIT :size")
IN_STATUS = sa.text(SELECT + "WHERE status = ANY(:statuses) ORDER BY id")
INSERT = sa.text(
    "INSERT INTO {plural} ({", ".join(name for name, _, _ in module["fields"])}, status) "
    "VALUES ({binds}, :status) RETURNING *"
)
MOVE = sa.text(
    "UPDATE {plural} SET status = :status, revision = revision + 1 "
    "WHERE id = :id AND revision = :revision RETURNING *"
)


async def get_{one}(db: AsyncConnection, {one}_id: int) -> {kind}:
    row = (await db.execute(BY_ID, {{"id": {one}_id}})).mappings().first()
    if row is None:
        raise NotFound("{one}", {one}_id)
    return {kind}.from_row(row)


async def list_{plural}(db: AsyncConnection, statuses: set[{kind}Status]) -> list[{kind}]:
    found = await db.execute(IN_STATUS, {{"statuses": sorted(status.value for status in statuses)}})
    return [{kind}.from_row(row) for row in found.mappings()]


async def add_{one}(db: AsyncConnection, values: dict[str, object]) -> {kind}:
    row = (await db.execute(INSERT, values | {{"status": {kind}Status.{module["states"][0].upper()}.value}})).mappings().one()
    return {kind}.from_row(row)


async def move_{one}(db: AsyncConnection, {one}: {kind}, status: {kind}Status) -> {kind}:
    bound = {{"id": {one}.id, "revision": {one}.revision, "status": status.value}}
    row = (await db.execute(MOVE, bound)).mappings().first()
    if row is None:
        raise StaleRevision("{one}", {one}.id)
    return {kind}.from_row(row)
'''


def _service(module: Module) -> str:
    kind, one = _kind(module), module["singular"]
    rules = "\n".join(_rule(module, rule) for rule in module["rules"])
    return f'''"""Rules for {module["plural"]}. {module["about"]}"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from math import cos, pi

import structlog

from harbor.clock import Clock
from harbor.money import Money
from harbor.{module["plural"]}.models import {kind}, {kind}Status

log = structlog.get_logger()


class {kind}Service:
    """What may happen to a {one}, and what follows from it."""

    def __init__(self, store, clock: Clock, **neighbours) -> None:
        self.store = store
        self.clock = clock
        self.__dict__.update(neighbours)

    async def save(self, {one}: {kind}) -> {kind}:
        saved = await self.store.update({one})
        log.info("{one}.saved", id=saved.id, revision=saved.revision, status=saved.status.value)
        return saved

{rules}'''


def _rule(module: Module, rule: list[str]) -> str:
    name, arguments, returns, promise, body, _ = rule
    taken = ", ".join(["self", f"{module['singular']}: {_kind(module)}", *filter(None, [arguments])])
    return f'    async def {name}({taken}) -> {returns}:\n        """{promise}"""\n{indent(body, " " * 8)}\n'


def _routes(module: Module, number: int) -> str:
    kind, plural, one = _kind(module), module["plural"], module["singular"]
    actions = "\n".join(
        f'''

@router.post("/{{{one}_id}}/{name.replace("_", "-")}", status_code={200 + number % 3})
async def {name}({one}_id: int, body: {name.title().replace("_", "")}In, service: Service, caller: Caller) -> {kind}Out:
    """{promise}"""
    caller.must_hold("{plural}:write")
    {one} = await service.store.get({one}_id)
    await service.{name}({one}, **body.model_dump())
    return {kind}Out.of(await service.store.get({one}_id))
'''
        for name, _, returns, promise, _, _ in module["rules"]
        if returns == kind
    )
    fields = "\n".join(f"    {name}: {annotation}" for name, annotation, _ in module["fields"])
    return f'''"""HTTP for {plural}."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict

from harbor.auth import Caller
from harbor.paging import PageOut
from harbor.{plural}.models import {kind}, {kind}Status
from harbor.wiring import {one}_service

router = APIRouter(prefix="/{plural}", tags=["{plural}"])
Service = Annotated[object, Depends({one}_service)]


class {kind}In(BaseModel):
    """What a client may set."""

    model_config = ConfigDict(extra="forbid")
{fields}


class {kind}Out({kind}In):
    """What a client gets to see."""

    id: int
    status: {kind}Status
    revision: int

    @classmethod
    def of(cls, {one}: {kind}) -> {kind}Out:
        return cls.model_validate({one}, from_attributes=True)


@router.get("")
async def list_{plural}(
    service: Service,
    caller: Caller,
    cursor: str | None = None,
    size: Annotated[int, Query(ge=1, le=200)] = {25 + 25 * (number % 3)},
    status: {kind}Status | None = None,
) -> PageOut[{kind}Out]:
    """Oldest first; the cursor of a page leads to the next."""
    caller.must_hold("{plural}:read")
    page = await service.store.page(cursor, size, status)
    return PageOut.of(page, {kind}Out.of)


@router.get("/{{{one}_id}}")
async def get_{one}({one}_id: int, service: Service, caller: Caller) -> {kind}Out:
    caller.must_hold("{plural}:read")
    return {kind}Out.of(await service.store.get({one}_id))


@router.post("", status_code=201)
async def add_{one}(body: {kind}In, service: Service, caller: Caller) -> {kind}Out:
    caller.must_hold("{plural}:write")
    return {kind}Out.of(await service.add(**body.model_dump()))
{actions}'''


def _service_tests(module: Module) -> str:
    kind, one, plural = _kind(module), module["singular"], module["plural"]
    given = "\n".join(f'    "{name}": {example},' for name, _, example in module["fields"])
    tests = "\n\n".join(
        f'async def test_{name}(service: {kind}Service, {one}: {kind}, clock: FakeClock) -> None:\n    """{promise}"""\n{indent(test, "    ")}\n'
        for name, _, _, promise, _, test in module["rules"]
    )
    return f"""from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pytest

from harbor.{plural}.models import {kind}, {kind}Status
from harbor.{plural}.service import {kind}Service
from tests.fakes import FakeClock, FakeStore, utc

GIVEN = {{
{given}
}}


def make_{one}(**changes: object) -> {kind}:
    fixed = {{"id": 1, "status": {kind}Status.{module["states"][0].upper()}, "revision": 1, "created_at": utc(2026, 3, 1)}}
    return {kind}(**(GIVEN | fixed | changes))


@pytest.fixture
def {one}() -> {kind}:
    return make_{one}()


@pytest.fixture
def service(clock: FakeClock) -> {kind}Service:
    return {kind}Service(FakeStore(make_{one}()), clock)


{tests}"""


def _route_tests(module: Module) -> str:
    kind, one, plural = _kind(module), module["singular"], module["plural"]
    first, last = module["states"][0], module["states"][-1]
    return f'''from __future__ import annotations

from httpx import AsyncClient

from tests.fakes import grant


async def test_list_{plural}_is_paged(client: AsyncClient, seeded_{plural}: list[int]) -> None:
    answer = await client.get("/v1/{plural}?size=2", headers=grant("{plural}:read"))
    assert answer.status_code == 200
    assert [row["id"] for row in answer.json()["items"]] == seeded_{plural}[:2]
    assert answer.json()["next"] is not None


async def test_{one}_needs_the_right_scope(client: AsyncClient) -> None:
    answer = await client.get("/v1/{plural}/1", headers=grant("other:read"))
    assert answer.status_code == 403
    assert answer.json()["code"] == "scope_missing"


async def test_unknown_{one}_is_404(client: AsyncClient) -> None:
    answer = await client.get("/v1/{plural}/999999", headers=grant("{plural}:read"))
    assert answer.status_code == 404


async def test_extra_fields_are_refused(client: AsyncClient) -> None:
    answer = await client.post("/v1/{plural}", json={{"colour": "red"}}, headers=grant("{plural}:write"))
    assert answer.status_code == 422


async def test_{plural}_can_be_filtered_by_status(client: AsyncClient, seeded_{plural}: list[int]) -> None:
    answer = await client.get("/v1/{plural}?status={last}", headers=grant("{plural}:read"))
    assert all(row["status"] == "{last}" for row in answer.json()["items"])
    answer = await client.get("/v1/{plural}?status={first}", headers=grant("{plural}:read"))
    assert len(answer.json()["items"]) == len(seeded_{plural})  # {kind} starts as {first}
'''


_SQL = {
    "str": "text",
    "int": "bigint",
    "bool": "boolean",
    "Decimal": "numeric(8, 2)",
    "float": "double precision",
}


def _migration(module: Module, number: int) -> str:
    columns = "\n".join(
        f"    {name} {_SQL.get(annotation.removesuffix(' | None'), _other(annotation))}"
        f"{'' if annotation.endswith('None') else ' NOT NULL'},"
        for name, annotation, _ in module["fields"]
    )
    before = f'"{number - 1:04d}"' if number else "None"
    return f'''"""{module["plural"]}: first table."""

from alembic import op

revision = "{number:04d}"
down_revision = {before}

UP = """
CREATE TABLE {module["plural"]} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
{columns}
    status text NOT NULL CHECK (status IN ({", ".join(f"'{state}'" for state in module["states"])})),
    revision integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX {module["plural"]}_status ON {module["plural"]} (status, id);
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute("DROP TABLE {module["plural"]}")
'''


def _other(annotation: str) -> str:
    return {"date": "date", "datetime": "timestamptz", "time": "time"}.get(annotation, "jsonb")
