"""What the blocks of one walk share: the tape, the set-up, the parameters of the module, positions and mask."""

from __future__ import annotations

from memplan.architecture.parts import Linear, Norm, Table
from memplan.memory import operations as op
from memplan.memory import products
from memplan.memory.setup import Setup
from memplan.memory.tape import Grads, Parameter, Size, Tape, Tensor, given


class Context:
    """One walk: a tape, a set-up, a batch, and the parameters met so far."""

    def __init__(self, tape: Tape, setup: Setup, batch: Size, sequence: Size) -> None:
        self.tape, self.setup, self.batch, self.sequence = tape, setup, batch, sequence
        self.parameters: dict[str, Parameter] = {}
        self.cos: Tensor | None = None
        self.sin: Tensor | None = None
        self.held_by_checkpoints: list[Tensor] = []
        self.masks: dict[int | None, Tensor | None] = {}
        """The attention mask for each window width; None where the kernel needs none."""

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

    def linear(self, spec: Linear, x: Tensor, module: str) -> Tensor:
        """A linear module under this set-up: plain, packed in 4 bit, with or without an adapter."""
        name = f"{module}.{spec.name}" if module else spec.name
        with self.tape.inside(name):
            if self.setup.packed and spec.component != "head":
                return self._packed_linear(spec, x, name)
            result = self._plain_linear(spec, x, name)
            if not self.setup.adapts(spec.name):
                return result
            # PEFT's forward: the input is cast to the adapter's dtype, autocast or not.
            before = result.dtype
            x = op.to(self.tape, x, self.setup.adapter_dtype)
            result = op.add(self.tape, result, op.times(self.tape, self._adapter(spec, x, name)))
            return op.to(self.tape, result, before)

    def _plain_linear(self, spec: Linear, x: Tensor, name: str) -> Tensor:
        weight = self.parameter(f"{name}.weight", (spec.outputs, spec.inputs))
        bias = self.parameter(f"{name}.bias", (spec.outputs,)) if spec.bias else None
        return products.linear(self.tape, x, weight, bias)

    def _adapter(self, spec: Linear, x: Tensor, name: str) -> Tensor:
        setup, tape = self.setup, self.tape
        dtype = setup.adapter_dtype
        a = self.parameter(f"{name}.lora_A", (setup.rank, spec.inputs), dtype=dtype, trains=True)
        b = self.parameter(f"{name}.lora_B", (spec.outputs, setup.rank), dtype=dtype, trains=True)
        return products.linear(tape, products.linear(tape, op.dropout(tape, x, setup.dropout), a), b)

    def _packed_linear(self, spec: Linear, x: Tensor, name: str) -> Tensor:
        """bitsandbytes' 4-bit product (0.43 and later): keeps no input, unpacks the weight again in backward."""
        tape, compute = self.tape, "bf16"
        result = op.to(tape, _packed_product(tape, op.to(tape, x, compute), spec), x.dtype)
        if not self.setup.adapts(spec.name):
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
        weight = self.parameter(f"{name}.weight", (spec.size,))
        with self.tape.inside(name):
            if spec.kind == "layer":
                bias = self.parameter(f"{name}.bias", (spec.size,)) if spec.bias else None
                return op.layer_norm(self.tape, x, weight, bias)
            if spec.kind == "gemma_rms":
                return _gemma_rms_norm(self.tape, x, weight)
            return _rms_norm(self.tape, x, weight)

    def embed(self, spec: Table, ids: Tensor) -> Tensor:
        """Rows of an embedding table."""
        with self.tape.inside(spec.name):
            return products.embedding(self.tape, ids, self.parameter(f"{spec.name}.weight", (spec.rows, spec.width)))


def _rms_norm(tape: Tape, x: Tensor, weight: Parameter) -> Tensor:
    """LlamaRMSNorm: in fp32, back to the input's dtype, then the gain."""
    dtype = x.dtype
    x = op.to(tape, x, "fp32")
    variance = op.square_mean(tape, x)
    x = op.mul_by_row_scalar(tape, x, op.rsqrt(tape, op.plus_constant(tape, variance)))
    return op.scale(tape, op.to(tape, x, dtype), weight)


def _gemma_rms_norm(tape: Tape, x: Tensor, weight: Parameter) -> Tensor:
    """Gemma2RMSNorm: the gain (1 + weight) is applied in fp32, then back to the input's dtype."""
    dtype = x.dtype
    x = op.to(tape, x, "fp32")
    x = op.mul_by_row_scalar(tape, x, op.rsqrt(tape, op.plus_constant(tape, op.square_mean(tape, x))))
    gain = tape.new(weight.shape, "fp32")
    if tape.needs_grad(weight):
        tape.record(gain, (weight,), lambda grads: (grads[0],))
    return op.to(tape, op.scale(tape, x, gain), dtype)


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
