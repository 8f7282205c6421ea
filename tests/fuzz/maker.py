"""Makes the case with a given number: the same seed and number give the same case."""
import collections
import functools

import numpy as np
from onnx import defs

import mutations
import references
from cases import Case, Step, rounding
from draw import Draw, Impossible
from known_defects import reference_is_wrong
from operators import CHAINED, EXACT, GENERATORS, SCHEMAS, STEPS
from predicates import has_any

NEWEST = defs.onnx_opset_version()
WIDELY_KNOWN = 24  # opset that the references implement


def versions_of():
    table = collections.defaultdict(list)
    for schema in SCHEMAS:
        table[schema.domain, schema.name].append(schema)
    for schemas in table.values():
        schemas.sort(key=lambda s: s.since_version)
    return table


VERSIONS = versions_of()
OPERATORS = [key for key in GENERATORS if key in VERSIONS]


class Maker:
    def __init__(self, seed, only=()):
        self.seed = seed
        self.operators = [k for k in OPERATORS if not only or k[1] in only]
        if not self.operators:
            raise SystemExit(f"fuzz ops: no generator for {', '.join(only)}")
        self.only = only

    def make(self, number):
        """A Case, and its outputs by the first reference that runs it: (case, outputs or None, reference or why
        not)."""
        random = np.random.Generator(np.random.PCG64([self.seed, number]))
        for _ in range(200):
            try:
                return self.attempt(random, number)
            except Impossible:
                continue
        raise RuntimeError(f"case {number}: no operator could be drawn")

    def attempt(self, random, number):
        key = self.operators[int(random.integers(len(self.operators)))]
        schemas = VERSIONS[key]
        # Every version, the newest more often.
        which = len(schemas) - 1 if random.random() < 0.4 else int(random.integers(len(schemas)))
        if schemas[which].deprecated:
            raise Impossible("taken out")
        opsets = self.opsets_for(random, schemas, which)
        case = Case(f"{key[1].lower()}_{self.seed}_{number}", opsets, [])
        case.is_wild = random.random() < 0.12
        length = 1 if case.is_wild or self.only or random.random() < 0.6 else int(random.integers(2, 6))
        node = self.add(case, random, schemas[which], None)
        outputs = reference = None
        if case.is_wild:
            mutations.mutate(case, random)
        else:
            self.choose_dims(case, random)
            outputs, reference = evaluate(case)
            if key[0] == "" and not node.shape_only:
                case, outputs, reference = self.extend(case, random, length, outputs, reference)
        case.tolerance = rounding(case.steps)
        if len(case.steps) == 1:
            case.tolerance.update({k: max(v, case.tolerance[k]) for k, v in (("atol", node.atol), ("rtol", node.rtol))
                                   if v is not None})
        elif node.atol is not None:
            case.tolerance["atol"] = max(case.tolerance["atol"], 10 * node.atol)
        if node.shape_only and case.name.startswith("multinomial"):
            outputs = None  # any of the classes
        return case, outputs, reference

    @staticmethod
    def opsets_for(random, schemas, which):
        schema = schemas[which]
        first = schema.since_version
        end = schemas[which + 1].since_version - 1 if which + 1 < len(schemas) else \
            NEWEST if schema.domain == "" else first
        if first <= WIDELY_KNOWN < end and random.random() < 0.8:
            end = WIDELY_KNOWN
        opset = first if random.random() < 0.5 else int(random.integers(first, end + 1))
        if schema.domain == "":
            return {"": opset}
        return {"": int(random.integers(13, 23)), schema.domain: opset}

    def add(self, case, random, schema, carried, carried_name=""):
        draw = Draw(random, schema, carried)
        node = GENERATORS[schema.domain, schema.name](draw)
        if carried is not None and not draw.used_carried:
            raise Impossible("does not use what it is given")
        number = len(case.steps)
        for i, operand in enumerate(node.inputs):
            if operand.value is None:
                operand.name = ""
            elif operand.name == "carried":
                operand.name = carried_name
            else:
                operand.name = f"n{number}i{i}"
                operand.constant = random.random() < operand.constant and isinstance(operand.value, np.ndarray)
        while node.inputs and node.inputs[-1].value is None and len(node.inputs) > schema.min_input:
            node.inputs.pop()
        outputs = [f"n{number}o{i}" for i in range(node.outputs)]
        case.steps.append(Step(schema.name, schema.domain, node.inputs, node.attributes, outputs))
        return node

    @staticmethod
    def choose_dims(case, random):
        """How the model names its inputs' sizes."""
        style = random.random()
        ranked = False
        for name, operand in case.given().items():
            value = operand.value
            if isinstance(value, list) or name in case.dims or operand.constant or operand.static:
                continue
            if style < 0.35:
                continue
            if style > 0.97 and not ranked:
                case.dims[name] = None
                ranked = True
                continue
            case.dims[name] = [
                d if style > 0.65 and random.random() < 0.5 else f"{name}_{i}" if random.random() < 0.8 or d == 1 else f"d{d}"
                for i, d in enumerate(value.shape)]

    def extend(self, case, random, length, outputs, reference):
        """Appends nodes while they fit and a reference runs them."""
        for _ in range(12):
            if len(case.steps) >= length or not outputs:
                break
            name = case.steps[-1].outputs[0]
            value = outputs.get(name)
            if not isinstance(value, np.ndarray) or value.size > 20000:
                break
            key = CHAINED[int(random.integers(len(CHAINED)))]
            schema = schema_at(key, case.opsets[""])
            is_rounded = any(op not in EXACT for op in case.operators)
            if schema is None or (key[1] in STEPS and is_rounded):
                continue
            longer = Case(case.name, case.opsets, list(case.steps), dict(case.dims))
            try:
                self.add(longer, random, schema, value, name)
            except Impossible:
                continue
            if is_rounded and has_endless_factor(longer.steps[-1], name):
                continue
            self.choose_dims(longer, random)
            more, by = evaluate(longer)
            if more is None or any(not isinstance(v, np.ndarray) for v in more.values()):
                continue
            case, outputs, reference = longer, more, by
        return case, outputs, reference


def has_endless_factor(step, carried):
    """An operand beside the carried one is infinite: zeros, and what rounding left near them, become infinities of either sign."""
    return any(o.name != carried and isinstance(o.value, np.ndarray) and has_any(o.value, np.isinf) for o in step.operands)


@functools.cache
def schema_at(key, opset):
    found = [s for s in VERSIONS.get(key, []) if s.since_version <= opset]
    return found[-1] if found and not found[-1].deprecated else None


def evaluate(case, but=None):
    """Outputs by the first reference that runs the case, and its name; (None, why not) where none does."""
    model, feeds = case.model(), case.feeds()
    reasons = []
    for name in references.REFERENCES:
        wrong = reference_is_wrong(case, name)
        if name == but or wrong:
            reasons.append(wrong or "")
            continue
        try:
            return references.run(name, model, feeds), name
        except references.Unable as error:
            reasons.append(str(error))
    return None, "; ".join(reasons)
