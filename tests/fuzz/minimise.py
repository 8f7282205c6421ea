"""Other looks at a case: what another reference gives, and smaller models that may show the same."""
import dataclasses
import pathlib

import numpy as np

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
