"""Feed the reader of out-of-memory messages with broken ones: `python -m tools.fuzz_messages --minutes 10`.

The corpus is what people posted (`tests/truth/oom_messages.json`) and every text that once broke the reader or was
misread (`tests/corpus/messages`). Each round takes some, breaks them, reads and diagnoses the result. What raises
anything but a MemplanError, or breaks a promise (see `check`), is written to the corpus, and the run ends with 1.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from memplan.diagnose import diagnose, headline, other_matches_sentence, read_messages, stated_rows, tensor_sentence
from memplan.errors import MemplanError
from memplan.plan.scenario import Scenario

REPOSITORY = Path(__file__).resolve().parents[1]
MESSAGES = REPOSITORY / "tests" / "truth" / "oom_messages.json"
CORPUS = REPOSITORY / "tests" / "corpus" / "messages"
PLAN = Scenario.model_validate({"model": {"catalog": "meta-llama/Llama-3.2-1B"}})
NUMBERS = (b"0", b"1", b"-1", b"1e999", b"18446744073709551616", b"9" * 400, b"1,234,567.89", b"..", b"nan", b"0.00")
PIECES = (
    b"\x00",
    b"\xff\xfe",
    b"\x1b[31m",
    b"\r",
    b"\n",
    b"\xe2\x80\xa8",
    b"GiB",
    b"Tried to allocate ",
    b"(GPU 0; ",
    b"[rank3]: ",
)


def seeds() -> list[bytes]:
    """What to break."""
    posted = [record["text"].encode() for record in json.loads(MESSAGES.read_text(encoding="utf-8"))]
    return posted + [path.read_bytes() for path in sorted(CORPUS.glob("*.txt"))]


def broken(chance: random.Random, corpus: list[bytes]) -> bytes:
    """One text, made of some of the corpus and broken a few times."""
    text = b"\n".join(chance.choices(corpus, k=chance.choice((1, 1, 1, 2, 5))))
    for _ in range(chance.randrange(8)):
        text = chance.choice(_BREAKS)(chance, text)
    return text


def _cut(chance: random.Random, text: bytes) -> bytes:
    start, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    return text[:start] + text[end:] if chance.random() < 0.5 else text[start:end]


def _put(chance: random.Random, text: bytes) -> bytes:
    place = chance.randrange(len(text) + 1)
    return text[:place] + chance.choice((*PIECES, *NUMBERS)) + text[place:]


def _swap(chance: random.Random, text: bytes) -> bytes:
    if not text:
        return text
    found = bytearray(text)
    for _ in range(chance.randrange(1, 12)):
        found[chance.randrange(len(found))] = chance.randrange(256)
    return bytes(found)


def _double(chance: random.Random, text: bytes) -> bytes:
    start, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    return (text[:end] + text[start:end] * chance.randrange(1, 30) + text[end:])[:200_000]


def _wrap(chance: random.Random, text: bytes) -> bytes:
    width = chance.randrange(1, 120)
    return b"\n".join(text[start : start + width] for start in range(0, len(text), width))


def _recode(chance: random.Random, text: bytes) -> bytes:
    return text.decode("utf-8", "replace").encode(
        chance.choice(("utf-16", "utf-16-le", "utf-32", "cp1252", "utf-8-sig")), "replace"
    )


_BREAKS: tuple[Callable[[random.Random, bytes], bytes], ...] = (_cut, _put, _put, _swap, _double, _wrap, _recode)


def check(text: bytes, scenario: Scenario | None) -> None:
    """What holds for any text: it is read or refused in words, and amounts are amounts.

    Raises:
        AssertionError: a promise is broken.
    """
    try:
        reading = read_messages(text)
    except MemplanError:
        return
    for message in reading.messages:
        for name in ("asked", "total", "allocated", "reserved", "unallocated", "free", "process", "limit"):
            amount = getattr(message, name)
            assert amount is None or 0 <= amount.low_bytes <= amount.high_bytes, f"{name} is a range"
        assert message.line >= 1, "lines count from 1"
        found = diagnose(message, scenario, models=reading.models)
        words = (headline(found), tensor_sentence(found), other_matches_sentence(found), str(stated_rows(message)))
        assert "None" not in "".join(words), "what is not known is not written"
        assert all(part.num_bytes >= 0 for part in found.parts), "parts are amounts"


def rounds(seed: int) -> Iterator[tuple[bytes, Scenario | None]]:
    """Texts without end, the same ones for the same seed; every eighth is held against a plan."""
    chance, corpus = random.Random(seed), seeds()
    while True:
        yield broken(chance, corpus), PLAN if chance.random() < 0.125 else None


def main() -> int:
    """Fuzz for a while; tell what broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    end, slowest, count = time.monotonic() + 60 * options.minutes, 0.0, 0
    for text, scenario in rounds(options.seed):
        if time.monotonic() > end:
            break
        start = time.process_time()  # not the clock's: the machine may be busy
        try:
            check(text, scenario)
        except Exception as problem:
            CORPUS.mkdir(parents=True, exist_ok=True)
            path = CORPUS / f"{sha256(text).hexdigest()[:12]}.txt"
            path.write_bytes(text)
            print(f"{type(problem).__name__}: {problem}\nwritten to {path} (seed {options.seed}, round {count})")
            return 1
        slowest, count = max(slowest, time.process_time() - start), count + 1
    print(f"{count:,} texts read without a fault (seed {options.seed}); the slowest took {slowest:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
