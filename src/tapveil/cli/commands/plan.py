"""`tapveil plan` writes a plan to start from; `tapveil tune` the next one, from what was published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from tapveil.base.atomic import write_new
from tapveil.base.errors import UsageError
from tapveil.base.progress import for_console
from tapveil.cli.options import Json, Quiet, err, out


def plan(
    preset: Annotated[
        str | None,
        Argument(help="Which plan, such as opal, od (origin to destination) or journeys; without it, all are listed."),
    ] = None,
    every: Annotated[
        str | None,
        Option(
            help="Write a plan with gaps, and routine.toml next to it, for `tapveil run`: a release each day, week, "
            "month, quarter or year. PRESET may be a plan of yours."
        ),
    ] = None,
    output: Annotated[Path | None, Option("--output", "-o", help="Write to this new file, not to the screen.")] = None,
) -> None:
    """Write a commented plan to start from, or list all of them."""
    from tapveil.plan.model import PRESETS, Plan, preset_text

    if preset is None:
        if output is not None:
            raise UsageError(f"name a plan to write to {output}: {', '.join(PRESETS)}")
        for name in PRESETS:
            typer.echo(f"{name:<14}{Plan.preset(name).release.title}")
        return
    if every is not None:
        _write_routine(preset, every, output)
        return
    text = preset_text(preset)
    if output is None:
        typer.echo(text, nl=False)
        return
    write_new(output, text)
    err.print(f"Wrote {output}. Adapt its [source] section to your files, then run: tapveil check {output}")


def _write_routine(preset: str, every: str, output: Path | None) -> None:
    """A plan with gaps, and its routine."""
    from datetime import UTC, datetime
    from typing import cast, get_args

    from tapveil.base.span import Every
    from tapveil.internal.routine_draft import first_period, routine_text, with_gaps
    from tapveil.plan import toml
    from tapveil.plan.model import Plan, preset_text

    if every not in get_args(Every):
        raise UsageError(f"--every must be one of {', '.join(get_args(Every))}")
    if output is None:
        raise UsageError("--every writes two files: name the plan with -o, such as -o month.toml")
    routine = output.with_name("routine.toml")
    own = Path(preset) if preset.endswith(".toml") else None
    if own and own.resolve().parent != output.resolve().parent:
        raise UsageError(f"write {output.name} next to {own}, as its paths start from there")
    if found := next((path for path in (output, routine) if path.exists()), None):
        raise UsageError(f"{found} already exists; choose another name or another folder")
    text = toml.read_text(own) if own else preset_text(preset)
    span = first_period(Plan.parse(text), cast(Every, every), datetime.now(UTC).date())
    write_new(output, with_gaps(text, span))
    write_new(routine, routine_text(output.name, span))
    err.print(f"Wrote {output} and {routine}. Read both through, then run: tapveil run {routine}")


def tune(
    folder: Annotated[Path, Option("--from", help="A published folder. Nothing else is read.")],
    plan_file: Annotated[
        Path | None, Option("--plan", help="The plan of that folder, to rewrite for the next.")
    ] = None,
    output: Annotated[Path | None, Option("--output", "-o", help="With --plan: the new plan to write.")] = None,
    keep_mechanism: Annotated[
        bool, Option("--keep-mechanism", help="Choose weights only, and keep the mechanism.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Choose weights and mechanism for the next release.

    Reads only a published folder, so it costs no privacy.
    """
    from tapveil.internal.next_plan import next_plan
    from tapveil.plan import toml
    from tapveil.tuning import tune as tuning

    if (plan_file is None) != (output is None):
        raise UsageError("--plan and --output go together: the plan to rewrite, and the new one to write")
    if output and output.exists():
        raise UsageError(f"{output} already exists; choose another name")
    text = toml.read_text(plan_file) if plan_file else None
    tuned = tuning.tune(folder, keep_mechanism=keep_mechanism, progress=for_console(err, quiet=quiet))
    if text is not None and output:
        write_new(output, next_plan(text, tuned))
    if as_json:
        typer.echo(json.dumps(tuned.as_json(), indent=2))
    else:
        for line in tuned.lines():
            out.print(line)
    if output:
        kept = "" if tuned.improves else ": the same noise, with chosen_from"
        err.print(f"Wrote {output}{kept}. Review it, then run: tapveil check {output}")
        err.print("Its noise was chosen from a published folder, so the ledger adds its releases to those before it.")
