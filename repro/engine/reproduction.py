"""A reproduction of a paper: stages that measure, and the documents that are written from results.

A folder has:

- reasons.toml: all texts (claims.py, figures.py), and the names of the `stages` in their order
- a file for each stage, with `measure`, and `quick` if it has a form with small inputs
- derived.py: what follows from several results

    python -m repro NAME             # all stages, then claims.md and report.html
    python -m repro NAME STAGE …     # only these stages, then both; needed for those in `by_hand`

They go to out/repro/NAME; stages that were not measured there are the repository's.

    python -m repro NAME --record …  # results and claims.md into the repository instead
    python -m repro NAME --write     # claims.md and the report from the repository's results
    python -m repro NAME --quick     # small inputs, into out/repro/NAME/quick only
"""

import importlib
import platform
import sys
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from types import ModuleType
from typing import Any

from bench.commands import first_line
from repro.engine import claims, figures
from repro.engine.results import REPOSITORY, Results, results_of
from repro.engine.shown import run_groups
from tautochrone import __version__
from tautochrone.console.output import note
from tautochrone.errors import TauError
from tautochrone.report import picture
from tautochrone.report.page import page

Stages = Mapping[str, Callable[[], dict[str, Any]]]
OPTIONS = ("--record", "--write", "--quick")


def names() -> list[str]:
    """All reproductions."""
    return sorted(path.parent.name for path in (REPOSITORY / "repro").glob("*/reasons.toml"))


class Reproduction:
    """The reproduction in a folder: its sentences, its stages, and the results that are stored."""

    def __init__(self, name: str) -> None:
        self.stored = results_of(name)

    def module(self, name: str) -> ModuleType:
        """A file of the folder."""
        return importlib.import_module(f"repro.{self.stored.home.name}.{name}")

    @cached_property
    def sentences(self) -> dict[str, Any]:
        """What reasons.toml says."""
        return claims.sentences_of(self.stored.home)

    def stages(self, names: list[str]) -> Stages:
        """The measurements of these stages (all if none), and the groups of tests."""
        known = {name: self.module(name).measure for name in self.sentences["stages"]}
        groups = self.sentences.get("tests", {})
        if groups:
            known["shown"] = lambda: run_groups(groups)
        by_hand = self.sentences.get("by_hand", [])
        more = {name: self.module(name).measure for name in by_hand if name in names}
        return chosen(known | more, names or [*known])

    @property
    def quick(self) -> Stages:
        """Stages with small inputs."""
        modules = {name: self.module(name) for name in self.sentences["stages"]}
        return {name: each.quick for name, each in modules.items() if hasattr(each, "quick")}

    def results(self) -> dict[str, Any]:
        """All stored results, and the derived ones."""
        results = self.stored.all_stored()
        return results | {"derived": self.module("derived").derived(results)}

    def claims_text(self) -> str:
        """claims.md from stored results."""
        return claims.page(self.stored.home.name, self.sentences, self.results())

    def panels(self) -> list[figures.Panel]:
        """Every figure whose results are stored."""
        return [*figures.panels(self.sentences, self.results(), self.module)]

    def report_html(self) -> str:
        """The report from stored results, in the look of `tau report`."""
        return page(
            f"{self.sentences['title']}, tried again",
            [claims.verdict(self.sentences, self.results())],
            {"paper": self.sentences["paper"]},
            self.panels(),
            None,
            self.stored.stored("meta").get("conditions", {}),
        )

    def measure(self, stages: Stages, results: Results) -> None:
        """Measure and store the stages, and the conditions."""
        for name, stage in stages.items():
            started = time.monotonic()
            results.store(name, stage())
            note(f"{name}: {time.monotonic() - started:.0f} s")
        results.store("meta", {"conditions": conditions(self.sentences["machine"])})

    def write(self) -> None:
        """Write claims.md beside the results, the report, and a picture if one is wanted."""
        report = self.stored.out / "report.html"
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(self.report_html(), encoding="utf-8")
        document = self.stored.folder.parent / "claims.md"
        document.write_text(self.claims_text(), encoding="utf-8")
        if "picture_pixels" in self.sentences:
            width, height = self.sentences["picture_pixels"]
            try:
                picture.take(report, report.with_suffix(".png"), width, height)
            except TauError as error:
                note(f"no picture: {error.message}")
        results = self.results()
        print(claims.printed(self.sentences, results), end="")
        print(f"{claims.verdict(self.sentences, results)}\n{report}")

    def main(self, arguments: list[str]) -> None:
        """Do what the file's head says."""
        names = [name for name in arguments if not name.startswith("--")]
        if unknown := {*arguments} - {*names} - {*OPTIONS}:
            sys.exit(f"no option is called {', '.join(unknown)}; there are {', '.join(OPTIONS)}")
        if "--quick" in arguments:
            small = Results(self.stored.home.name, self.stored.out / "quick" / "results")
            self.measure(chosen(self.quick, names or [*self.quick]), small)
            print(f"see {small.folder}")
            return
        if not {"--write", "--record"} & {*arguments}:
            self.stored.folder = self.stored.out / "results"
        if "--write" not in arguments:
            self.measure(self.stages(names), self.stored)
        self.write()


def chosen(stages: Stages, names: list[str]) -> Stages:
    """The stages of these names, in their order."""
    unknown = [name for name in names if name not in stages]
    if unknown:
        sys.exit(f"no stage is called {', '.join(unknown)}; there are {', '.join(stages)}")
    return {name: stages[name] for name in names}


def conditions(words: Mapping[str, str | list[str]]) -> dict[str, str]:
    """What the numbers depend on: texts, and of a list the first line that this command says."""
    return {
        **{name: each if isinstance(each, str) else first_line(*each)
           for name, each in words.items()},
        "tautochrone": __version__,
        "commit": first_line("git", "rev-parse", "--short", "HEAD"),
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "C library": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
    }  # fmt: skip
