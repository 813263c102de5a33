"""Reads system.toml, the description of a composable system (docs/spec/system.md).

A message names the line. What needs the executables, as pages and memory, is checked by making.py.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone.compose.pages import ORDER_MAX, UNIT, WINDOW_END
from tautochrone.errors import TauError
from tautochrone.facts import compose_format, system_format
from tautochrone.files.schema import Reader
from tautochrone.files.toml_file import read_toml
from tautochrone.tile import user_flags

IDLE, LOADER = "idle", "loader"
TAKEN = re.compile(f"{IDLE}|{LOADER}|base|kernel(-.*)?")  # Owners of slots, and files of ours.
NEXT_STEP = "see docs/spec/system.md, or the example kernel/systems/jpeg/system.toml"
Table = dict[str, Any]


@dataclass(frozen=True)
class Description:
    """A file whose names and limits are right: its tables, checked, and where each line is."""

    path: Path
    text: str
    tables: Table
    reader: Reader

    @property
    def folder(self) -> Path:
        """The folder from which its paths start."""
        return self.path.parent

    def fail(self, place: str, text: str, next_step: str | None = None) -> TauError:
        """The error TEXT about PLACE."""
        return self.reader.fail(f"{place}: {text}", next_step, place)


def read_description(path: Path) -> Description:
    """Read and check a file. Raises TauError with the line, the cause and the next step."""
    text, document, reader = read_toml(path, "system", NEXT_STEP)
    tables = reader.table("", document, system_format.DOCUMENT)
    description = Description(path, text, tables, reader)
    _check_applications(description)
    _check_slots(description)
    _check_commands(description)
    _check_use_cases(description)
    return description


def _check_applications(description: Description) -> None:
    names: Counter[str] = Counter()
    for index, application in enumerate(description.tables["application"]):
        place = f"application[{index}]"
        name = application["name"]
        names[name] += 1
        if names[name] > 1 or TAKEN.fullmatch(name):
            step = "choose another one; docs/spec/system.md, SYS-18, has those that nobody may have"
            raise description.fail(f"{place}.name", f"the name {name} is taken", step)
        if ("executable" in application) == ("sources" in application):
            raise description.fail(place, "give either executable or sources")
        for key in ("page_bytes", "round_bytes"):
            _check_page_bytes(description, f"{place}.{key}", application.get(key))
        tasks = application["tasks"]
        if not tasks or len(set(tasks)) != len(tasks):
            raise description.fail(f"{place}.tasks", "name one task or more, each once")
        pool = [key for key in application if key.startswith("pool_")]
        if len(pool) not in (0, 3):
            raise description.fail(
                f"{place}.{pool[0]}", "a pool needs pool_address, pool_pages and pool_frames"
            )
        for key in ("pool_address", "address"):
            if application.get(key, 0) % UNIT != 0:
                raise description.fail(f"{place}.{key}", f"it is not a multiple of {UNIT}")
        if pool:
            _check_pool(description, place, application)
        wrong = user_flags.refusal(application.get("flags", ()))
        if wrong is not None:
            where, text = f"{place}.flags[{wrong[0]}]", wrong[1]
            raise description.fail(where, text, user_flags.NEXT_STEP)
        if application.get("sources") == []:
            raise description.fail(f"{place}.sources", "give at least one file")
        for number, fifo in enumerate(application.get("fifos", ())):
            there = f"{place}.fifos[{number}]"
            _check_page_bytes(description, f"{there}.page_bytes", fifo.get("page_bytes"))
            for key in ("writer", "reader"):
                if fifo[key] not in tasks:
                    raise description.fail(
                        f"{there}.{key}", f"{name} has no task {fifo[key]}", _known(tasks)
                    )
            if fifo["writer"] == fifo["reader"]:
                raise description.fail(there, "writer and reader are the same task")


def _check_pool(description: Description, place: str, application: Table) -> None:
    end = application["pool_address"] + application["pool_pages"] * UNIT
    if end > WINDOW_END:
        raise description.fail(
            f"{place}.pool_pages", f"they end at {end:#x}, the window at {WINDOW_END:#x}"
        )
    if application["pool_frames"] > application["pool_pages"]:
        raise description.fail(f"{place}.pool_frames", "more frames than pages")


def _check_page_bytes(description: Description, place: str, size_bytes: int | None) -> None:
    sizes = [UNIT << 2 * order for order in range(ORDER_MAX + 1)]
    if size_bytes is not None and size_bytes not in sizes:
        raise description.fail(
            place, f"a page cannot have {size_bytes} bytes", f"use one of {_listed(sizes)}"
        )


def _check_slots(description: Description) -> None:
    tasks = {
        f"{application['name']}.{task}": index
        for index, application in enumerate(description.tables["application"])
        for task in application["tasks"]
    }
    found: dict[str, int] = {}
    if not description.tables["tile"]:
        raise description.fail("tile", "no tile is defined")
    for index, tile in enumerate(description.tables["tile"]):
        place = f"tile[{index}].slots"
        if not tile["slots"]:
            raise description.fail(place, "no slot is defined")
        for slot in tile["slots"]:
            if slot in (IDLE, LOADER):
                continue
            if slot not in tasks:
                raise description.fail(place, f"unknown task {slot}", _known(tasks))
            if found.setdefault(slot, index) != index:
                raise description.fail(place, f"{slot} has slots on two tiles already: move one")
        if LOADER not in tile["slots"]:
            raise description.fail(
                place, "no slot is the loader's, so nothing is ever loaded here", 'add "loader"'
            )
    _check_epoch(description)
    for task, application in tasks.items():
        if task not in found:
            raise description.fail(
                f"application[{application}].tasks",
                f"{task} has no slot on any tile",
                f'add "{task}" to the slots of a tile',
            )


def _check_epoch(description: Description) -> None:
    """Loads and unloads are ordered by epochs, so no tile may wait too long for the next one."""
    counts = [len(tile["slots"]) for tile in description.tables["tile"]]
    slots = math.lcm(*counts)
    if slots > compose_format.LIMIT_EPOCH_SLOTS:
        raise description.fail(
            f"tile[{len(counts) - 1}].slots",
            f"a system that cannot be ordered: major frames of {_listed(counts)} slots begin"
            f" together only every {slots:,} slots, more than {compose_format.LIMIT_EPOCH_SLOTS:,}",
            'give one of them "idle" slots, so that both counts have a smaller common multiple',
        )


def _check_end(description: Description, place: str, epoch: int) -> None:
    """The kernel counts cycles with 64 bits."""
    time = description.tables["time"]
    slots = math.lcm(*(len(tile["slots"]) for tile in description.tables["tile"]))
    cycles = slots * (time["user_slot_cycles"] + time["os_slot_cycles"])
    if time["start_cycle"] + (epoch + 1) * cycles >= 1 << 64:
        last = ((1 << 64) - 1 - time["start_cycle"]) // cycles - 1
        text = f"epoch {epoch} ends after 2^64 cycles, which nobody counts"
        raise description.fail(place, text, f"give {last} or less")


def _check_commands(description: Description) -> None:
    names = [application["name"] for application in description.tables["application"]]
    loaded: set[str] = set()
    last: dict[str, int] = {}
    for index, command in enumerate(description.tables["command"]):
        place, name = f"command[{index}]", command["application"]
        if name not in names:
            raise description.fail(
                f"{place}.application", f"unknown application {name}", _known(names)
            )
        is_load = command["operation"] == "load"
        if is_load == (name in loaded):
            state = "is loaded already" if is_load else "is not loaded"
            raise description.fail(f"{place}.operation", f"{name} {state}")
        if command["epoch"] < last.get(name, 0):
            raise description.fail(
                f"{place}.epoch", f"{name} has a command for epoch {last[name]} before"
            )
        _check_end(description, f"{place}.epoch", command["epoch"])
        last[name] = command["epoch"]
        loaded.symmetric_difference_update({name})


def _check_use_cases(description: Description) -> None:
    names = [application["name"] for application in description.tables["application"]]
    commanded = {command["application"] for command in description.tables["command"]}
    known: list[str] = []
    for index, use_case in enumerate(description.tables.get("use_case", ())):
        place = f"use_case[{index}]"
        if use_case["name"] in known:
            raise description.fail(f"{place}.name", f"the name {use_case['name']} is taken")
        known.append(use_case["name"])
        for name in use_case["applications"]:
            if name not in names:
                raise description.fail(
                    f"{place}.applications", f"unknown application {name}", _known(names)
                )
            if name in commanded or use_case["applications"].count(name) > 1:
                why = "has commands of its own" if name in commanded else "is there twice"
                raise description.fail(f"{place}.applications", f"{name} {why}")
    before = 0
    for index, switch in enumerate(description.tables.get("switch", ())):
        place = f"switch[{index}]"
        if switch["use_case"] not in known:
            raise description.fail(
                f"{place}.use_case", f"unknown use case {switch['use_case']}", _known(known)
            )
        ends = switch.get("ends", switch["epoch"])
        if not before <= switch["arrives"] < ends <= switch["epoch"]:
            raise description.fail(
                f"{place}.epoch",
                f"its commands arrive in epoch {switch['arrives']}, the old ones end at {ends}, the"
                f" new ones begin at {switch['epoch']}: not in this order, after epoch {before}",
                f"choose {before} <= arrives < ends <= epoch",
            )
        _check_end(description, f"{place}.epoch", switch["epoch"])
        before = switch["epoch"]


def _known(names: Any) -> str:
    return f"use one of {_listed(names)}" if names else "none is defined"


def _listed(names: Any) -> str:
    return ", ".join(str(name) for name in names)
