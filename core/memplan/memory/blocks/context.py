"""What the blocks of one walk share: the tape, the set-up, the parameters of the module, positions and mask."""

from __future__ import annotations

from functools import cache

from memplan.architecture.parts import Linear, Norm, Table
from memplan.memory import norms, products
from memplan.memory import operations as op
from memplan.memory.blocks.joining import joined, split
from memplan.memory.sequence import gathered, rows_of_part, scattered
from memplan.memory.setup import Setup
from memplan.memory.storage import Size
from memplan.memory.symbols import Rule, counted
from memplan.memory.tape import Grads, Parameter, Tape, Tensor, given


@cache
def of_one_token(rule: Rule) -> Rule:
    """The rule for a pass of one token a sequence, whatever is cached. The same rule gives the same answer."""
    return lambda batch, _, *numbers: rule(batch, 1, *numbers)


class Context:
    """One walk: a tape, a set-up, a batch, and the parameters met so far."""

    def __init__(self, tape: Tape, setup: Setup, batch: Size, sequence: Size) -> None:
        self.tape, self.setup, self.batch = tape, setup, batch
        last = setup.cache in ("cut", "last")
        self.past: Size = sequence if setup.cache == "decode" else sequence - 1 if last else 0
        """Tokens before those of this pass whose keys and values are there: cached, or made by an earlier layer."""
        self.sequence: Size = 1 if last or setup.cache == "decode" else sequence
        """Tokens of this pass."""
        self.cache: list[Tensor] = []
        """What the layer that runs has cached of each token: keys, values."""
        self.states: list[Tensor] = []
        """What it has cached whatever the tokens."""
        self.parameters: dict[str, Parameter] = {}
        self.cos: Tensor | None = None
        self.sin: Tensor | None = None
        self.other_positions: list[Tensor] = []
        """Cosines and sines of further tables, which other layers read."""
        self.returned_weights: Tensor | None = None
        """What eager attention returns beside its output: the layer holds it until it is through."""
        self.attention_locals: list[Tensor] = []
        """What attention's function holds until the residual is added, where that is part of it (Bloom)."""
        self.layer_inputs: Tensor | None = None
        """What was made for each layer beside the residual."""
        self.awaited: dict[str, tuple[tuple[Size, ...], str]] = {}
        """What the layer shares with others and a later one has given a gradient: shapes and dtypes."""
        self.waiting: dict[str, Tensor] = {}
        """Such gradients, as the layer runs back."""
        self.behind: list[Tensor] = []
        """What shared keys and values were made of when a checkpoint was run again: the way back from them holds it."""
        self.layer_locals: list[Tensor] = []
        """What the layer's function holds until it is through."""
        self.held_by_checkpoints: list[Tensor] = []
        self.masks: dict[int | None, Tensor | None] = {}
        """The attention mask for each window width; None where the kernel needs none."""

    def counted(self, rule: Rule, *numbers: int) -> Size:
        """rule(batch, sequence, *numbers): for whatever follows from the batch and the sequence by no polynomial."""
        if self.past:
            rule = of_one_token(rule)
        return counted(self.batch, self.past or self.sequence, rule, *numbers)

    @property
    def turns_queries(self) -> bool:
        """Whether products must put queries in order head by head; those of one token stand so in any order."""
        return bool(self.batch > 1) and not self.past

    @property
    def turns_keys(self) -> bool:
        """Whether products must put keys and values in order head by head; cached ones stand so."""
        return bool(self.batch > 1) and self.setup.cache == "none"

    def keys(self, window: int | None) -> Size:
        """Positions whose keys this pass reads: those of its own tokens, and those cached that a window reaches."""
        if not self.past:
            return self.sequence
        if self.setup.cache in ("cut", "last"):
            return self.past + 1  # a prompt's keys are there whole, whatever a window reaches
        return self.past + 1 if window is None or self.past < window else window

    @property
    def rows(self) -> Size:
        """Tokens of a sequence between attention and feed-forward: the device's part where devices divide them."""
        parts = self.setup.sequence_parts
        return self.sequence if parts == 1 else self.counted(rows_of_part, parts)

    def whole(self, x: Tensor) -> Tensor:
        """All tokens of what each device has a part of."""
        if self.setup.sequence_parts == 1:
            return x
        return gathered(self.tape, x, (self.batch, self.sequence, x.shape[-1]))

    def part(self, x: Tensor) -> Tensor:
        """The device's part of the tokens."""
        if self.setup.sequence_parts == 1:
            return x
        return scattered(self.tape, x, (self.batch, self.rows, x.shape[-1]))

    def release_shared(self) -> None:
        """Let go of what all layers read."""
        self.cos = self.sin = None
        self.layer_inputs = None
        self.other_positions.clear()
        self.masks.clear()
        self.held_by_checkpoints.clear()

    def parameter(
        self, name: str, shape: tuple[int, ...], *, dtype: str | None = None, trains: bool | None = None
    ) -> Parameter:
        """The parameter of this name, made at its first use."""
        found = self.parameters.get(name)
        if found is None:
            setup = self.setup
            found = Parameter(
                name,
                shape,
                dtype or setup.unpacked_dtype,
                setup.base_trains if trains is None else trains,
            )
            self.parameters[name] = found
        return found

    def _trains(self, module: str) -> bool | None:
        """True where a copy of this module trains whole; None leaves it to the set-up."""
        return True if self.setup.saves(module) else None

    def linear(self, spec: Linear, x: Tensor, module: str) -> Tensor:
        """A linear module under this set-up: plain, packed in 4 bit, with or without an adapter."""
        name = f"{module}.{spec.name}" if module else spec.name
        with self.tape.inside(name):
            if self.setup.packs(spec.component):
                return self._packed_linear(spec, x, name)
            return self.with_adapter(spec, x, self._plain_linear(spec, x, name), name)

    def with_adapter(self, spec: Linear, x: Tensor, result: Tensor, name: str) -> Tensor:
        """A plain module's result, and its adapter's beside it where it has one."""
        if not self.setup.adapts(spec):
            return result
        # PEFT's forward: the input is cast to the adapter's dtype, autocast or not.
        before = result.dtype
        x = op.to(self.tape, x, self.setup.adapter_dtype)
        result = op.add(self.tape, result, op.times(self.tape, self._adapter(spec, x, name)))
        return op.to(self.tape, result, before)

    def _plain_linear(self, spec: Linear, x: Tensor, name: str) -> Tensor:
        trains = None if self.setup.adapts(spec) else self._trains(name)
        weight = self.parameter(f"{name}.weight", (spec.outputs, spec.inputs), trains=trains)
        bias = self.parameter(f"{name}.bias", (spec.outputs,), trains=trains) if spec.bias else None
        if spec.transposed:
            y = products.linear(self.tape, x, weight, caches_cast=False)
            return y if bias is None else op.plus_row(self.tape, y, bias)
        return products.linear(self.tape, x, weight, bias)

    def _adapter(self, spec: Linear, x: Tensor, name: str) -> Tensor:
        setup, tape = self.setup, self.tape
        dtype = setup.adapter_dtype
        a = self.parameter(f"{name}.lora_A", (setup.rank, spec.inputs), dtype=dtype, trains=True)
        b = self.parameter(f"{name}.lora_B", (spec.outputs, setup.rank), dtype=dtype, trains=True)
        return products.linear(tape, products.linear(tape, op.dropout(tape, x, setup.dropout), a), b)

    def _packed_linear(self, spec: Linear, x: Tensor, name: str) -> Tensor:
        """bitsandbytes' 4-bit product (0.43 and later): keeps no input, unpacks the weight again in backward.

        So does GPTQ's, whose kernels compute in fp16.
        """
        tape, compute = self.tape, "fp16" if self.setup.packed_format == "gptq_int4" else "bf16"
        result = op.to(tape, _packed_product(tape, op.to(tape, x, compute), spec), x.dtype)
        if not self.setup.adapts(spec):
            return result
        result = op.copied(tape, result)
        if tape.autocast is not None:
            return op.add(tape, result, op.times(tape, self._adapter(spec, x, name)))
        x = op.to(tape, x, self.setup.adapter_dtype)
        delta = op.times(tape, self._adapter(spec, x, name))
        return op.add(tape, result, op.to(tape, delta, result.dtype))

    def norm(self, spec: Norm | None, x: Tensor, module: str = "") -> Tensor:
        """A norm of any kind; a missing one passes its input on."""
        if spec is None:
            return x
        name = f"{module}.{spec.name}" if module else spec.name
        if spec.modules > 1:
            return self._norms_by_head(spec, x, name)
        trains = self._trains(name)
        dtype, with_bias = self.setup.norms_dtype or None, spec.affine and spec.bias
        weight = self.parameter(f"{name}.weight", spec.shape, dtype=dtype, trains=trains) if spec.affine else None
        bias = self.parameter(f"{name}.bias", spec.shape, dtype=dtype, trains=trains) if with_bias else None
        with self.tape.inside(name):
            return norms.norm(self.tape, spec.kind, x, weight, bias)

    def _norms_by_head(self, spec: Norm, x: Tensor, name: str) -> Tensor:
        """A layer norm for each head: heads are cut apart and joined again."""
        one = (self.batch, self.sequence, spec.size)
        heads = split(self.tape, x, [one] * spec.modules)
        with self.tape.inside(name):
            normed = [
                norms.norm(self.tape, spec.kind, head, gain, None)
                for head, gain in zip(heads, self._gains(spec, name), strict=True)
            ]
        return joined(self.tape, normed)

    def _gains(self, spec: Norm, name: str) -> list[Parameter]:
        dtype, trains = self.setup.norms_dtype or None, self._trains(name)
        return [
            self.parameter(f"{name}.{index}.weight", spec.shape, dtype=dtype, trains=trains)
            for index in range(spec.modules)
        ]

    def embed(self, spec: Table, ids: Tensor) -> Tensor:
        """Rows of an embedding table."""
        with self.tape.inside(spec.name):
            return products.embedding(self.tape, ids, self.parameter(f"{spec.name}.weight", (spec.rows, spec.width)))


def _packed_product(tape: Tape, x: Tensor, spec: Linear) -> Tensor:
    output = tape.new((*x.shape[:-1], spec.outputs), x.dtype)
    if not tape.needs_grad(x):
        return output
    tape.keep_weight()
    shape = x.shape

    def run(grads: list[Tensor | None]) -> Grads:
        dtype = given(grads).dtype
        unpacked = tape.new((spec.outputs, spec.inputs), dtype)
        result = tape.new(shape, dtype)
        del unpacked
        return (result,)

    return tape.record(output, (x,), run)
