"""Saves a plan over and over in a child process, kills it at a random moment, and looks at what is left.

    python saving_under_fire.py FOLDER KILLS whole|naive

`naive` writes the file in place: it shows that the loss this looks for would be seen. Prints how many kills left
a file that is neither the old plan nor the new one. Needs os.fork.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from memplan.errors import PlanError
from memplan.plan.file import load_plan, plan_bytes, save_plan
from memplan.plan.model_choice import ModelChoice
from memplan.plan.scenario import Plan, Scenario

SCENARIO = Scenario(model=ModelChoice(catalog="a"))
PLANS = (Plan(title="one", scenarios=(SCENARIO,)), Plan(title="other", notes="x" * 900_000, scenarios=(SCENARIO,) * 20))


def save_for_ever(path: Path, naive: bool) -> None:
    while True:
        for plan in PLANS:
            if naive:
                path.write_bytes(plan_bytes(plan))
            else:
                save_plan(plan, path)


def lost(path: Path, naive: bool, chance: random.Random) -> bool:
    child = os.fork()
    if child == 0:
        save_for_ever(path, naive)
    time.sleep(chance.uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        return load_plan(path) not in PLANS
    except PlanError:
        return True


def main(folder: str, kills: str, how: str) -> None:
    path = Path(folder) / "a.memplan"
    save_plan(PLANS[0], path)
    chance = random.Random(2)
    sys.stdout.write(str(sum(lost(path, how == "naive", chance) for _ in range(int(kills)))))


main(*sys.argv[1:])
