"""The `precompact` command. Everything heavy is imported by the command that needs it, so that help is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from precompact_cli.exits import Exit, told
from precompact_cli.view import View
from precompact_cli.writers import Writer

app = typer.Typer(
    name="precompact",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Compaction done before it is needed. Exit codes: 0 done, 1 failed, 2 wrong input, 3 nothing to do.",
)

File = Annotated[
    Path,
    typer.Argument(
        help="A log of Claude Code, Codex, pi, OpenCode or Gemini CLI, or provider JSON: {format, messages, usage, …}."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON alone.")]
Window = Annotated[
    int | None, typer.Option(min=1_024, help="Context window in tokens; default: the model's.")
]
Speed = Annotated[
    float | None,
    typer.Option(min=0.1, max=1_000, help="How many times as fast as recorded; default: chosen, and told."),
]
Url = Annotated[
    str | None, typer.Option(help="Address of the running service; else PRECOMPACT_URL, else that of `up`.")
]
Key = Annotated[str | None, typer.Option(help="A tenant's key; else PRECOMPACT_KEY, else it is asked for.")]
Latest = Annotated[bool, typer.Option("--latest", help="Take the newest log on this machine.")]
Viewed = Annotated[
    View,
    typer.Option("--view", help="Of a log with compactions: all of it, or the context before or after them."),
]
Sidechain = Annotated[int, typer.Option(min=0, help="Number of a sub-agent in the log, from 1.")]
Session = Annotated[
    str | None, typer.Option(help="Id of a session, of several that OpenCode keeps in one place.")
]


@app.command()
def up(  # noqa: PLR0917 - options are keywords to whoever types them
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port of the API; 0 = a free one.")
    ] = None,
    redis_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the embedded Redis; 0 = a free one.")
    ] = 0,
    new_key: Annotated[bool, typer.Option(help="Issue another key for the tenant `default`.")] = False,
    flower: Annotated[bool, typer.Option(help="Start Flower too, read-only.")] = False,
    flower_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port of Flower; 0 = a free one.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run everything on this machine: Redis (unless URLs are set), API, scheduler, worker. Ctrl-C stops all."""
    with told():
        from precompact_cli.up import UpOptions, run_up

        options = UpOptions(
            port=port,
            redis_port=redis_port,
            new_key=new_key,
            with_flower=flower,
            flower_port=flower_port,
            as_json=as_json,
        )
        _end(run_up(options))


@app.command()
def demo(  # noqa: PLR0917
    recording: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="A log or provider JSON to play; default: the sample that ships."
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option(help="The same, as an option.")] = None,
    latest: Latest = False,
    view: Viewed = View.HISTORY,
    sidechain: Sidechain = 0,
    session: Session = None,
    provider: Annotated[Writer, typer.Option(help="Who writes the summaries.")] = Writer.SCRIPTED,
    standin: Annotated[
        bool,
        typer.Option("--standin", help="Start a stand-in for the provider: its SDK, no key, no cost."),
    ] = False,
    model: Annotated[
        str | None, typer.Option(help="The provider's model; default: a small one, as in the settings.")
    ] = None,
    preset: Annotated[str, typer.Option(help="Name of a preset.")] = "precompact",
    summary_s: Annotated[
        float,
        typer.Option(min=0, max=600, help="Seconds of session time a summary takes, where it can be set."),
    ] = 20.0,
    speed: Speed = None,
    window: Window = None,
    as_json: Json = False,
) -> None:
    """Play a recorded session through the whole service; ends with one line of JSON."""
    with told():
        from precompact_cli.demo import DemoOptions, run_demo
        from precompact_cli.source import choose_source
        from precompact_cli.summariser import Summariser

        named = file or recording
        is_sample = named is None and not latest
        source = (
            None
            if is_sample
            else choose_source(named, latest=latest, view=view, sidechain=sidechain, session=session)
        )
        summariser = Summariser(
            writer=provider, preset=preset, model=model, is_standin=standin, takes_s=summary_s
        )
        options = DemoOptions(source=source, speed=speed, window=window, summariser=summariser, quiet=as_json)
        _end(run_demo(options))


@app.command()
def replay(  # noqa: PLR0917
    files: Annotated[
        list[Path] | None, typer.Argument(help="Logs or provider JSON, played one after the other.")
    ] = None,
    latest: Latest = False,
    view: Viewed = View.HISTORY,
    sidechain: Sidechain = 0,
    session: Session = None,
    url: Url = None,
    key: Key = None,
    speed: Speed = None,
    window: Window = None,
    as_json: Json = False,
) -> None:
    """Play sessions through a running service, as an agent would; one line of JSON for each, several are summed."""
    with told():
        from precompact_cli.access import find_access
        from precompact_cli.replay import ReplayOptions, run_replay
        from precompact_cli.source import choose_sources

        sources = choose_sources(files or [], latest=latest, view=view, sidechain=sidechain, session=session)
        options = ReplayOptions(
            sources=sources, access=find_access(url, key), speed=speed, window=window, quiet=as_json
        )
        _end(run_replay(options))


@app.command()
def inspect(  # noqa: PLR0917
    file: Annotated[Path | None, typer.Argument(help="A log or provider JSON, as for compact.")] = None,
    latest: Latest = False,
    view: Viewed = View.HISTORY,
    sidechain: Sidechain = 0,
    session: Session = None,
    window: Window = None,
    validate: Annotated[
        bool, typer.Option("--validate", help="Name every provider rule it breaks; 1 if it would be refused.")
    ] = False,
    policy: Annotated[
        Path | None, typer.Option(help="A policy as JSON; its `tools` are known besides the shipped ones.")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Write a picture of the context's size to this file.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the picture and the figures to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Show what a conversation is made of, what would trigger when, and where each preset would cut."""
    with told():
        from precompact_cli.inspecting import run_inspect
        from precompact_cli.source import choose_source

        source = choose_source(file, latest=latest, view=view, sidechain=sidechain, session=session)
        _end(
            run_inspect(
                source, window=window, policy=policy, judged=validate, as_json=as_json, svg=svg, html=html
            )
        )


@app.command()
def compact(  # noqa: PLR0917
    file: File,
    preset: Annotated[str, typer.Option(help="Name of a preset.")] = "precompact",
    provider: Annotated[str, typer.Option(help="extractive or scripted.")] = "extractive",
    window: Window = None,
    view: Annotated[
        View, typer.Option(help="Of a log with compactions: what would be sent next, or all of it.")
    ] = View.AFTER,
    session: Session = None,
    as_json: Json = False,
) -> None:
    """Compact a conversation offline. Nothing to compact: exit code 3 and the reason."""
    with told():
        from precompact_cli.compacting import run_compact

        _end(
            run_compact(
                file,
                preset=preset,
                provider=provider,
                window=window,
                as_json=as_json,
                view=view,
                session=session,
            )
        )


@app.command()
def why(
    session: Annotated[str, typer.Argument(help="Id of the session.")],
    url: Url = None,
    key: Key = None,
    last: Annotated[int, typer.Option(min=1, max=100, help="How many decisions to show.")] = 10,
    as_json: Json = False,
) -> None:
    """Say why something happened to a session, or why nothing did."""
    with told():
        from precompact_cli.access import find_access
        from precompact_cli.why import run_why

        access = find_access(url, key)
        _end(run_why(session, url=access.url, key=access.key, last=last, as_json=as_json))


@app.command()
def key(
    tenant: Annotated[str, typer.Argument(help="Name of the tenant; made if there is none.")],
    scope: Annotated[
        list[str] | None, typer.Option(help="agent, ops, admin or platform; repeat for more. Default: agent.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Issue a key straight into the store of PRECOMPACT_STATE_REDIS_URL: the first one of a new deployment."""
    with told():
        from precompact_cli.keys import run_key

        _end(run_key(tenant, scope or ["agent"], as_json=as_json))


@app.command()
def standin(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to answer on; 0 = a free one.")] = 8430,
    scenario: Annotated[
        Path | None, typer.Option(help="What goes wrong and when: TOML or JSON. Default: nothing.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Answer in place of Anthropic and OpenAI on this machine, strictly and without a key. Ctrl-C stops it."""
    with told():
        from precompact_cli.standin import run_standin

        _end(run_standin(port, scenario, as_json=as_json))


@app.command()
def doctor(as_json: Json = False) -> None:
    """Check the settings and Redis for what loses data or hurts."""
    with told():
        from precompact_cli.doctor import run_doctor

        _end(run_doctor(as_json=as_json))


def _end(code: Exit) -> None:
    raise typer.Exit(int(code))
