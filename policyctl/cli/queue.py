"""``policyctl queue``: look into queues, and after their dead letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from policyctl.cli._app import help_unless_command
from policyctl.cli._console import console, printable
from policyctl.cli._formats import TextOrJson

if TYPE_CHECKING:
    from policyctl.cli._queues import AnyStore

app = typer.Typer(rich_markup_mode=None)
PART = 500
"""Dead letters that one step reads, moves or deletes."""

Target = Annotated[
    str,
    typer.Argument(
        metavar="FILE-or-URL",
        help="The file of an sqlite queue, or the address of a Redis or Valkey server.",
    ),
]
Name = Annotated[
    str | None,
    typer.Option("--queue", metavar="NAME", help="Only this queue."),
]
Format = Annotated[TextOrJson, typer.Option(help="How to print it.")]
Limit = Annotated[
    int, typer.Option(min=1, max=100_000, help="The most entries for each queue.")
]
Ids = Annotated[
    list[str] | None,
    typer.Option("--id", metavar="ID", help="Only this one; may be repeated."),
]
Yes = Annotated[
    bool, typer.Option("--yes", help="Do it; without, only say what would be done.")
]


@app.callback(invoke_without_command=True)
def _group(context: typer.Context) -> None:
    """Look into queues, and after their dead letters.

    All of it is safe while programs use the queues.
    """
    help_unless_command(context)


@app.command("list")
def list_(target: Target, format: Format = TextOrJson.text) -> None:
    """List the queues of a file or a server with what they hold."""
    stats(target, None, format)


@app.command()
def stats(target: Target, queue: Name = None, format: Format = TextOrJson.text) -> None:
    """Print how many items are ready, leased and dead, and how old the oldest is."""
    from policyctl.cli import _queues

    stores = _queues.open_queues(target, queue)
    found = {name: _queues.guarded(store.stats) for name, store in stores.items()}
    if format is TextOrJson.json:
        document = {name: numbers.as_dict() for name, numbers in found.items()}
        for name, store in stores.items():
            document[name]["max_size"] = store.settings.max_size
        console().write_utf8(_queues.as_json(document))
        return
    heads = ("queue", "ready", "delayed", "leased", "dead", "bytes", "oldest", "acked")
    rows = [
        (
            printable(name),
            s.ready,
            s.delayed,
            s.leased,
            s.dead,
            s.bytes,
            f"{s.oldest_seconds:.0f}s" if s.size else "-",
            s.acked,
        )
        for name, s in found.items()
    ]
    console().write(_queues.table(heads, rows) if rows else "no queues\n")


@app.command()
def peek(
    target: Target,
    queue: Name = None,
    limit: Limit = 10,
    format: Format = TextOrJson.text,
) -> None:
    """Show the items that are next, without taking them."""
    from policyctl.cli import _queues

    stores = _queues.open_queues(target, queue)
    found = {
        name: _queues.guarded(lambda store=store: store.peek(limit))  # type: ignore[misc]
        for name, store in stores.items()
    }
    if format is TextOrJson.json:
        document = {
            n: [_queues.item_json(i) for i in items] for n, items in found.items()
        }
        console().write_utf8(_queues.as_json(document))
        return
    rows = [
        (
            printable(name),
            i.id,
            i.deliveries,
            _queues.age(i.put_at),
            _queues.short(i.body),
        )
        for name, items in found.items()
        for i in items
    ]
    heads = ("queue", "id", "deliveries", "age", "payload")
    console().write(_queues.table(heads, rows) if rows else "nothing is ready\n")


@app.command()
def dead(
    target: Target,
    queue: Name = None,
    id: Ids = None,
    limit: Limit = 100,
    format: Format = TextOrJson.text,
) -> None:
    """List dead letters, oldest first, with why they died; --id shows one of them."""
    from policyctl.cli import _queues

    stores = _queues.open_queues(target, queue)
    found = {
        name: _queues.guarded(lambda store=store: _dead(store, id, limit))  # type: ignore[misc]
        for name, store in stores.items()
    }
    if format is TextOrJson.json:
        document = {
            n: [_queues.dead_json(d) for d in some] for n, some in found.items()
        }
        console().write_utf8(_queues.as_json(document))
        return
    rows = [
        (
            printable(name),
            letter.id,
            letter.reason,
            letter.deliveries,
            _queues.age(letter.died_at),
            printable((letter.error or "-").replace("\n", " ")[: _queues.WIDEST]),
            _queues.short(letter.body),
        )
        for name, some in found.items()
        for letter in some
    ]
    heads = ("queue", "id", "reason", "deliveries", "dead for", "error", "payload")
    console().write(_queues.table(heads, rows) if rows else "no dead letters\n")


def _dead(store: AnyStore, ids: list[str] | None, limit: int) -> list[Any]:
    if ids:
        found = (store.find_dead(id) for id in ids[:limit])
        return [letter for letter in found if letter is not None]
    letters: list[Any] = []
    while len(letters) < limit:
        after = letters[-1].cursor if letters else 0
        part = store.dead(min(PART, limit - len(letters)), after)
        if not part:
            break
        letters += part
    return letters


@app.command()
def redrive(
    target: Target,
    queue: Name = None,
    id: Ids = None,
    yes: Yes = False,
    format: Format = TextOrJson.text,
) -> None:
    """Put dead letters back into their queue, oldest first, as far as they fit.

    Their deliveries start at 0 again; their history is kept.
    """
    _change("redrive", "redriven", target, queue, id, yes, format)


@app.command()
def purge(
    target: Target,
    queue: Name = None,
    id: Ids = None,
    yes: Yes = False,
    format: Format = TextOrJson.text,
) -> None:
    """Delete dead letters for good."""
    _change("purge", "purged", target, queue, id, yes, format)


def _change(
    step: str,
    done: str,
    target: str,
    queue: str | None,
    ids: list[str] | None,
    yes: bool,
    format: TextOrJson,
) -> None:
    """Redrive or purge, in small steps; without ``yes`` only count."""
    from policyctl.cli import _queues
    from policyctl.cli._progress import Progress

    stores = _queues.open_queues(target, queue, writing=yes)
    counts: dict[str, int] = {}
    with Progress(console(), f"{step} dead letters") as progress:
        for name, store in stores.items():
            selected = _queues.guarded(lambda store=store: _count(store, ids))  # type: ignore[misc]

            def tell(count: int, name: str = name, selected: int = selected) -> None:
                progress.stage(f"{name}: {count} of {selected} {done}")

            counts[name] = selected
            if yes and selected:
                counts[name] = _queues.guarded(
                    lambda store=store, tell=tell, most=selected: _in_parts(  # type: ignore[misc]
                        store, step, ids, most, tell
                    )
                )
    _tell(counts, step, done, yes, format)


def _count(store: AnyStore, ids: list[str] | None) -> int:
    return len(_dead(store, ids, len(ids))) if ids else store.stats().dead


def _in_parts(
    store: AnyStore,
    step: str,
    ids: list[str] | None,
    most: int,
    tell: Callable[[int], None],
) -> int:
    from policyctl.runtime.queues.records import Change

    run = store.redrive if step == "redrive" else store.purge
    if ids:
        return sum(
            run(ids[n : n + PART], PART, Change()) for n in range(0, len(ids), PART)
        )
    total = 0
    while total < most:
        part = min(PART, most - total)
        moved = run(None, part, Change())
        total += moved
        tell(total)
        if moved < part:
            break
    return total


def _tell(
    counts: dict[str, int], step: str, done: str, yes: bool, format: TextOrJson
) -> None:
    from policyctl.cli import _queues

    if format is TextOrJson.json:
        document = {n: {done: count, "dry_run": not yes} for n, count in counts.items()}
        console().write_utf8(_queues.as_json(document))
        return
    for name, count in counts.items():
        letters = "dead letter" if count == 1 else "dead letters"
        would = done if yes else f"would be {done}"
        console().write(f"{printable(name)}: {count} {letters} {would}\n")
    if not yes and any(counts.values()):
        console().note(f"nothing was changed; add --yes to {step} them")
