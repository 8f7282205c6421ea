"""Decision trees: every mode, leaves at other depths, few and many rows, few and many trees, features that are missing."""
import numpy as np

from case_maker import case, random

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def forest(trees, deepest, modes, tracks, features=5, targets=2):
    """The attributes of a TreeEnsembleRegressor whose trees are grown at random."""
    names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")
    nodes = {name: [] for name in names}
    votes = {"treeids": [], "nodeids": [], "ids": [], "weights": []}
    for tree in range(trees):
        pending, count = [(0, 0)], 1
        while pending:
            node, depth = pending.pop(0)
            is_leaf = depth == deepest or (depth > 0 and random.rand() < 0.35)
            row = [tree, node, 0, 0.0, "LEAF", 0, 0, 0]
            if is_leaf:
                for name, value in zip(votes, (tree, node, int(random.randint(targets)), round(float(random.randn()), 2))):
                    votes[name].append(value)
            else:
                row[2:] = [int(random.randint(features)), float(random.randint(-4, 5) / 2), str(random.choice(modes)),
                           count, count + 1, int(random.rand() < tracks)]
                pending += [(count, depth + 1), (count + 1, depth + 1)]
                count += 2
            for name, value in zip(names, row):
                nodes[name].append(value)
    return {**{f"nodes_{name}": values for name, values in nodes.items()},
            **{f"target_{name}": values for name, values in votes.items()}, "n_targets": targets}


def rows(count, missing=0.0, features=5):
    x = (random.randint(-6, 7, (count, features)) / 2).astype(np.float32)
    x[random.rand(count, features) < missing] = np.nan
    return x


def forests():
    for mode in MODES:
        for tracks in (0, 1):
            yield case(f"{mode.lower()}_{tracks}", "TreeEnsembleRegressor", [rows(11, 0.2)],
                       forest(3, 6, [mode], tracks), domain="ai.onnx.ml", opset=3)
    for trees, deepest, count in ((1, 12, 1), (1, 9, 70), (8, 5, 8), (9, 3, 33), (20, 7, 7), (2, 0, 9), (3, 4, 40), (3, 5, 64)):
        yield case(f"{trees}_trees_{deepest}_deep_{count}_rows", "TreeEnsembleRegressor", [rows(count)],
                   forest(trees, deepest, MODES[:1], 0), domain="ai.onnx.ml", opset=3)
    yield case("modes_mixed", "TreeEnsembleRegressor", [rows(20, 0.1)], forest(6, 6, MODES, 0.5), domain="ai.onnx.ml", opset=3)
