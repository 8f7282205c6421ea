"""Turns a case into one that the specification may forbid: only a clean end is wanted of it."""
import numpy as np

from draw import Operand, WORDS

# No size that is just about possible: to make gigabytes of elements is no mistake.
NUMBERS = [-1, -2, 0, 1, 7, 100, -2**31, 2**48, 2**62, 2**63 - 1, -2**63]


def pick(random, options):
    return options[int(random.integers(len(options)))]


def change_attribute(case, step, random):
    if not step.attributes:
        return False
    name = pick(random, sorted(step.attributes))
    value = step.attributes[name]
    if isinstance(value, bool) or isinstance(value, int):
        step.attributes[name] = pick(random, NUMBERS)
    elif isinstance(value, float):
        step.attributes[name] = pick(random, [float("nan"), float("inf"), -1e30, 0.0, -1.0])
    elif isinstance(value, str):
        step.attributes[name] = pick(random, WORDS)
    elif isinstance(value, list) and value:
        value = list(value)
        how = random.integers(4)
        if how == 0:
            value.pop()
        elif how == 1:
            value.append(value[0])
        elif isinstance(value[0], int):
            value[int(random.integers(len(value)))] = pick(random, NUMBERS)
        elif isinstance(value[0], float):
            value[int(random.integers(len(value)))] = pick(random, [float("nan"), float("inf"), -1.0])
        if not value:
            return False
        step.attributes[name] = value
    else:
        return False
    return True


def drop_attribute(case, step, random):
    if not step.attributes:
        return False
    del step.attributes[pick(random, sorted(step.attributes))]
    return True


def arrays(step):
    return [o for o in step.operands if isinstance(o.value, np.ndarray)]


def reshape_operand(case, step, random):
    """Another shape: an axis more or less, a size more or less."""
    options = arrays(step)
    if not options:
        return False
    operand = pick(random, options)
    value, how = operand.value, int(random.integers(5))
    if how == 0:
        operand.value = value[None]
    elif how == 1 and value.ndim:
        operand.value = value.reshape(-1)
    elif how == 2 and value.ndim and value.shape[0]:
        operand.value = np.asarray(value[0], value.dtype)
    elif how == 3 and value.ndim:
        axis = int(random.integers(value.ndim))
        operand.value = np.concatenate([value, np.take(value, range(min(1, value.shape[axis])), axis)], axis)
    elif value.ndim:
        axis = int(random.integers(value.ndim))
        operand.value = np.take(value, range(max(0, value.shape[axis] - 1)), axis)
    return True


def break_numbers(case, step, random):
    """Extremes in an operand of integers: indices, axes, sizes, counts."""
    options = [o for o in arrays(step) if o.value.dtype.kind in "iu" and o.value.size]
    if not options:
        return False
    operand = pick(random, options)
    info = np.iinfo(operand.value.dtype)
    operand.value = operand.value.copy()
    for _ in range(int(random.integers(1, 3))):
        operand.value.reshape(-1)[int(random.integers(operand.value.size))] = \
            min(max(pick(random, NUMBERS), info.min), info.max)
    return True


def change_type(case, step, random):
    options = arrays(step)
    if not options:
        return False
    operand = pick(random, options)
    if operand.value.dtype == np.dtype(object):
        operand.value = np.zeros(operand.value.shape, np.float32)
    else:
        with np.errstate(all="ignore"):
            operand.value = operand.value.astype(pick(random, [np.int64, np.int32, np.float32, np.float64, np.bool_, np.uint8,
                                                               np.float16, np.complex64]))
    return True


def drop_operand(case, step, random):
    present = [i for i, o in enumerate(step.operands) if o.value is not None]
    if not present:
        return False
    step.operands[pick(random, present)] = Operand(None)
    return True


def add_operand(case, step, random):
    step.operands.append(Operand(np.array(1, np.int64), False, f"more{len(step.operands)}"))
    return True


def lie_about_dims(case, step, random):
    """The model says another size than the input has."""
    feeds = [(n, v) for n, v in case.feeds().items() if isinstance(v, np.ndarray) and v.ndim]
    if not feeds:
        return False
    name, value = pick(random, feeds)
    dims = list(value.shape)
    dims[int(random.integers(len(dims)))] += int(random.integers(1, 3))
    case.dims[name] = dims
    return True


def more_outputs(case, step, random):
    step.outputs.append("more")
    return True


MUTATIONS = [change_attribute, change_attribute, drop_attribute, reshape_operand, reshape_operand, reshape_operand,
             break_numbers, break_numbers, change_type, drop_operand, add_operand, lie_about_dims, more_outputs]


def mutate(case, random):
    symbols = random.random() < 0.5
    done = 0
    while done == 0:
        for _ in range(int(random.integers(1, 3))):
            done += pick(random, MUTATIONS)(case, case.steps[0], random)
        if done == 0:
            done += add_operand(case, case.steps[0], random)
    if symbols:  # what is wrong shows only at run time
        for name, value in case.feeds().items():
            if isinstance(value, np.ndarray):
                case.dims.setdefault(name, [f"{name}_{i}" for i in range(value.ndim)])
