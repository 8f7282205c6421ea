"""Other looks at a case: what another reference gives, and smaller models that may show the same."""
import dataclasses
import pathlib

import ml_dtypes
import numpy as np

import references
from cases import Case, rounding
from maker import evaluate


def alternative(maker, number, folder, but):
    """Writes what the references other than `but` give; None where none runs the case."""
    case, _, _ = maker.make(number)
    outputs, reference = evaluate(case, but)
    if outputs is None:
        return None
    case.write_outputs(folder, outputs)
    return reference


def sensitive(maker, number, folder):
    """Whether a chain of 16-bit floats may differ by more than its tolerance because rounding is carried on: writes, as
    the tolerance, what its results move by where the operands change by a unit in the last place."""
    case, outputs, reference = maker.make(number)
    if len(case.steps) == 1 or outputs is None or not any(narrow(o.value) for o in case.given().values()):
        return False
    moved = 0.0
    for seed in range(3):
        other = nudged(case, np.random.default_rng(seed))
        try:
            results = references.run(reference, other.model(), other.feeds())
        except references.Unable:
            return False
        moved = max([moved, *(distance(value, results[name]) for name, value in outputs.items())])
    case.tolerance["atol"] = max(case.tolerance["atol"], 4 * moved)
    case.write_outputs(folder, outputs)
    return moved > 0


def narrow(value):
    return isinstance(value, np.ndarray) and value.dtype.name in ("float16", "bfloat16")


def nudged(case, random):
    """The case with its 16-bit floats a unit in the last place up or down."""
    def nudge(operand):
        if not narrow(operand.value):
            return operand
        exact = operand.value.astype(np.float32)
        unit = np.abs(exact) * float(ml_dtypes.finfo(operand.value.dtype).eps)
        return dataclasses.replace(operand, value=(exact + random.choice([-1, 1], exact.shape) * unit).astype(operand.value.dtype))
    return dataclasses.replace(case, steps=[dataclasses.replace(step, operands=[nudge(o) for o in step.operands])
                                            for step in case.steps])


def distance(value, other):
    """The largest difference of finite elements."""
    if not narrow(value) or not isinstance(other, np.ndarray) or other.shape != value.shape:
        return 0.0
    with np.errstate(invalid="ignore"):
        difference = np.abs(value.astype(np.float64) - other.astype(np.float64))
    return float(np.max(difference, initial=0.0, where=np.isfinite(difference)))


def smaller(maker, number, folder):
    """Each node of a chain alone, then the chain's beginnings: [(folder, operators)]."""
    case, _, _ = maker.make(number)
    values = {}
    for count in range(1, len(case.steps)):
        outputs, _ = evaluate(dataclasses.replace(case, steps=case.steps[:count]))
        values.update(outputs or {})
    candidates = [alone(case, i, values) for i in range(len(case.steps))]
    candidates += [dataclasses.replace(case, steps=case.steps[:n]) for n in range(2, len(case.steps))]
    written = []
    for i, candidate in enumerate(c for c in candidates if c is not None):
        outputs, _ = evaluate(candidate)
        if outputs is None:
            continue
        candidate.tolerance = rounding(candidate.steps)
        target = pathlib.Path(folder) / f"part_{i}"
        candidate.write(target, outputs)
        written.append((str(target), " ".join(candidate.operators)))
    return written


def alone(case, index, values):
    step = case.steps[index]
    operands = []
    for operand in step.operands:
        if operand.name in values:
            operand = dataclasses.replace(operand, value=values[operand.name], constant=False)
        elif operand.name and not isinstance(operand.value, (np.ndarray, list)):
            return None
        operands.append(operand)
    return dataclasses.replace(case, steps=[dataclasses.replace(step, operands=operands)])
