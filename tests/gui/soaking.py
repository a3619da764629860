"""Edits a plan at random, as fast as the window takes it, with every view made; says how much memory is held meanwhile.

python soaking.py NUM_EDITS FOLDER [SEED]
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from memplan_gui.application import Application
from memplan_gui.document import PlanDocument
from memplan_gui.file_notice import FileNotice
from memplan_gui.file_watch import FileWatch
from memplan_gui.first_plan import example_plan
from memplan_gui.recovery import Recovery
from memplan_gui.scenario_edits import duplicate_scenario, move_scenario, remove_scenario
from memplan_gui.settings import Settings
from memplan_gui.theme import Theme
from memplan_gui.window import Window

NUM_MEASURED = 24
MOST_SCENARIOS = 6
MODELS = ("meta-llama/Llama-3.1-8B", "Qwen/Qwen3-8B", "mistralai/Mistral-7B-v0.1", "openai-community/gpt2")
VALUES: dict[str, tuple[Any, ...]] = {
    "model.catalog": MODELS,
    "training.method": ("full", "lora", "qlora", "freeze", "inference"),
    "training.micro_batch": tuple(range(1, 17)),
    "training.sequence_length": tuple(range(512, 16_384, 512)),
    "training.gradient_accumulation": (1, 2, 4, 8),
    "training.checkpointing": ("none", "full", "selective"),
    "training.optimizer": ("adamw", "sgd", "lion", "adafactor", "adamw_8bit", "muon"),
    "training.attention": ("eager", "sdpa", "flash"),
    "training.loss": ("plain", "chunked", "fused"),
    "training.lora.rank": (4, 8, 16, 32, 64),
    "training.weights_dtype": ("bf16", "fp16", "fp32"),
    "hardware.device": ("a100-80gb-sxm", "h100-80gb-sxm", "rtx-4090", "h200-sxm"),
    "hardware.devices": (1, 2, 4, 8, 16),
    "hardware.sharding.strategy": ("none", "ddp", "zero2", "zero3", "fsdp2"),
    "hardware.headroom": (0.0, 0.05, 0.1),
}


class Soak:
    """One window, and somebody who cannot sit still."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.theme = Theme(QApplication.instance(), "light")  # type: ignore[arg-type]  # it is this application
        self.document = PlanDocument(example_plan())
        self.window = Window(self.theme, Settings(forgotten=True))
        self.window.resize(1280, 800)
        self.window.show()
        self.window.fill(self.document)
        self.window.load_chart()
        self.window.answers.finish()
        Recovery(self.document, folder / "recovery", self.window)
        watch = FileWatch(self.document, self.window)
        FileNotice(watch, self.document, self.window.files, self.window.answer_panel.file_notice)
        for _, fold in self.window.plan_panel._folds:
            fold.open()
        for title in self.window.answer_panel.views.titles:
            self.show(title)

    def show(self, title: str) -> None:
        """Look at a view until it has its answer."""
        views = self.window.answer_panel.views
        views.show_view(title)
        QApplication.processEvents()
        view = views.view(title) if title != views.titles[0] else None
        if view is not None:
            view.finish()

    def turn(self) -> None:
        """One act: mostly an edit."""
        act = self.random.choices(list(self.acts()), weights=list(self.acts().values()))[0]
        act()
        QApplication.processEvents()

    def acts(self) -> dict[Callable[[], object], float]:
        """What somebody does, and how often."""
        return {
            self.edit: 30,
            self.undo: 4,
            self.redo: 2,
            self.scenario: 3,
            self.lever: 3,
            self.look: 2,
            self.rare: 0.3,
        }

    def edit(self) -> None:
        path = self.random.choice(list(VALUES))
        self.document.edit(self.document.full_path(path), self.random.choice(VALUES[path]))

    def undo(self) -> None:
        for _ in range(self.random.randint(1, 5)):
            self.document.undo_stack.undo()

    def redo(self) -> None:
        self.document.undo_stack.redo()

    def scenario(self) -> None:
        num = len(self.document.plan.scenarios)
        if num < MOST_SCENARIOS and self.random.random() < 0.5:
            duplicate_scenario(self.document)
        elif num > 2:
            remove_scenario(self.document, self.random.randrange(num))
        else:
            move_scenario(self.document, 0, num - 1)
        self.document.show_scenario(self.random.randrange(len(self.document.plan.scenarios)))

    def lever(self) -> None:
        self.window.answers.finish()
        offers = [offer for offer in self.window.answers.offers if offer.scenario is not None]
        if offers:
            self.window.toggle_lever(self.random.choice(offers).lever.id)

    def look(self) -> None:
        self.show(self.random.choice(self.window.answer_panel.views.titles))

    def rare(self) -> None:
        """What is done now and then."""
        self.random.choice(
            [
                lambda: self.document.save(self.folder / "soaked.memplan"),
                lambda: self.window.set_unit(self.random.choice(["gib", "gb"])),
                lambda: self.window.choose_theme(self.random.choice(["light", "dark"])),
                lambda: self.window.resize(self.random.randint(960, 1920), self.random.randint(600, 1080)),
            ]
        )()


def held_mib() -> float:
    """What the process holds in memory, after what waits for its deletion has had it."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def main(num_edits: int, folder: Path, seed: int) -> None:
    """Soak, and write a line of JSON for each of some moments."""
    app = Application(["soak"])
    soak, start_s = Soak(folder, seed), time.monotonic()
    for number in range(1, num_edits + 1):
        soak.turn()
        if number % max(1, num_edits // NUM_MEASURED) == 0:
            seconds = time.monotonic() - start_s
            line = {
                "edits": number,
                "seconds": round(seconds, 1),
                "mib": round(held_mib(), 1),
                "widgets": len(app.allWidgets()),
                "objects": len(gc.get_objects()),
            }
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
    soak.window.close_unasked()


main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
