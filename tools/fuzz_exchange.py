"""Throw broken files at the readers of trainers' configurations: `python -m tools.fuzz_exchange --minutes 10`.

Seeds are the inputs of the tests, by reader. Each is changed twice over: its bytes (cut, repeat, flip, splice), or what
it holds (a value of another kind, a key gone, added or renamed). A reader may refuse a file in words (MemplanError)
and nothing else: whatever else it raises is a defect, and the input is written to tests/core/exchange/corpus, where a
test reads it ever after. The same seed makes the same inputs.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from memplan.errors import MemplanError
from memplan.exchange.documents import Document, parse_document
from memplan.exchange.importing import import_documents
from memplan.exchange.reading import known_keys
from memplan.plan.file import plan_bytes

REPOSITORY = Path(__file__).parents[1]
FILES = REPOSITORY / "tests" / "core" / "exchange" / "files"
CORPUS = REPOSITORY / "tests" / "core" / "exchange" / "corpus"
READERS = (
    *("accelerate", "axolotl", "deepspeed", "hf_model", "litgpt", "llama_factory", "mlx", "peft", "torchtitan"),
    *("torchtune", "trainer", "trl", "unsloth"),
)
SYNTAX = {".json": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}
SLOW_SECONDS = 1.0
"""The second that is promised, of the processor's time: the machine may be busy."""
ANSWERS = {"hardware.devices": 2, "training.sequence_length": 512, "model": {"catalog": "openai-community/gpt2"}}

_KEYS_OF = {"trainer": "transformers", "hf_model": "transformers"}
_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 10**30, 10**40, 0.5, 1e308, -0.0, "", " ", "auto", "none", "no", "true"),
    *("nan", "inf", "5e8", "2e-5", "1_000", "0x10", "é\u2028\x1b[31m", "a,b,,", "(", "${a.b}", "../..", "x" * 5000),
    *([], [None], [[]], [1, 2], ["q_proj", None], {}, {"": None}, {"a": {"b": []}}, [{"a": 1}]),
)
_TOKENS = (
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\t",
    b": ",
    b"- ",
    b"&a ",
    b"*a",
    b"<<: ",
    b"!!binary ",
    b"{",
    b"[",
    b'"',
)


def seeds(reader: str) -> list[Path]:
    """The inputs that a reader's mutations start from."""
    return sorted(path for path in (FILES / reader).rglob("*") if path.suffix in SYNTAX and ".expect" not in path.name)


def mutations(reader: str, seed: int) -> Iterator[tuple[str, bytes]]:
    """Inputs without end: each a name (its ending says the syntax) and bytes."""
    dice = random.Random(f"{reader} {seed}")
    files = [(path, path.read_bytes()) for path in seeds(reader)]
    while True:
        path, data = dice.choice(files)
        if dice.random() < 0.4:
            yield path.name, _broken_bytes(dice, data, dice.choice(files)[1])
        elif content := _content(path.name, data):
            for _ in range(dice.randint(1, 4)):
                _change(dice, content, known_keys(_KEYS_OF.get(reader, reader)))
            yield f"{path.stem}.json", json.dumps(content).encode()


def _content(name: str, data: bytes) -> dict[str, Any] | None:
    try:
        return copy.deepcopy(parse_document(data, name, SYNTAX[Path(name).suffix]).content)
    except MemplanError:
        return None


def _broken_bytes(dice: random.Random, data: bytes, other: bytes) -> bytes:
    for _ in range(dice.randint(1, 6)):
        at, end = sorted((dice.randrange(len(data) + 1), dice.randrange(len(data) + 1)))
        match dice.randrange(5):
            case 0:
                data = data[:at] + data[end:]
            case 1:
                data = data[:at] + dice.choice(_TOKENS) * dice.choice((1, 1, 2, 200)) + data[at:]
            case 2:
                data = data[:end] + data[at:end] + data[end:]
            case 3:
                data = data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]
            case _:
                cut = dice.randrange(len(other) + 1)
                data = data[:at] + other[cut : cut + 200] + data[at:]
        data = data[:100_000]
    return data


def _change(dice: random.Random, content: dict[str, Any], known: frozenset[str]) -> None:
    """Change one place, wherever it stands."""
    node = content
    while inner := [value for value in node.values() if isinstance(value, dict)]:
        if dice.random() < 0.5:
            break
        node = dice.choice(inner)
    key = dice.choice(list(node)) if node else "a"
    match dice.randrange(5):
        case 0:
            node.pop(key, None)
        case 1:
            node[dice.choice(sorted(known))] = copy.deepcopy(dice.choice(_ODD))
        case 2:
            node[key + dice.choice(("s", "_", ""))] = node.pop(key, None)
        case _:
            node[key] = copy.deepcopy(dice.choice(_ODD))


def defect(name: str, data: bytes) -> str:
    """What went wrong with an input; empty where it was read, or refused in words."""
    try:
        document = parse_document(data, name, SYNTAX.get(Path(name).suffix))
        for answers in ({}, ANSWERS):
            _read(document, answers)
    except MemplanError as problem:
        return "" if str(problem).strip() else "an empty message"
    except Exception:
        return traceback.format_exc()
    return ""


def _read(document: Document, answers: dict[str, Any]) -> None:
    plan = import_documents([document], answers).plan
    if plan is not None:
        plan_bytes(plan)


def fuzz(readers: Sequence[str], minutes: float, seed: int) -> int:
    """Run until the time is up; return how many defects were found."""
    found = 0
    for reader in readers:
        count, slowest, end = 0, 0.0, time.monotonic() + 60 * minutes
        for name, data in mutations(reader, seed):
            if time.monotonic() > end:
                break
            start = time.process_time()
            what = defect(name, data)
            took = time.process_time() - start
            count, slowest = count + 1, max(slowest, took)
            if what or took > SLOW_SECONDS:
                found += 1
                _keep(reader, name, data)
                print(f"{reader}: {name}: {what or f'took {took:.2f} s'}", flush=True)
        print(f"{reader}: {count:,} inputs, slowest {slowest:.2f} s", flush=True)
    return found


def _keep(reader: str, name: str, data: bytes) -> None:
    CORPUS.mkdir(exist_ok=True)
    digest = hashlib.sha256(data).hexdigest()[:10]
    (CORPUS / f"{reader}-{digest}{Path(name).suffix}").write_bytes(data)


def main() -> None:
    """Read the arguments and run; end with 1 where a defect was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="for each reader (10)")
    parser.add_argument("--seed", type=int, default=0, help="which inputs (0)")
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"of {', '.join(READERS)} (all)")
    given = parser.parse_args()
    unknown = sorted(set(given.readers) - set(READERS))
    if unknown:
        parser.error(f"no such reader: {', '.join(unknown)}; there are {', '.join(READERS)}")
    raise SystemExit(1 if fuzz(given.readers or READERS, given.minutes, given.seed) else 0)


if __name__ == "__main__":
    main()
