"""ai.onnx.ml."""
import numpy as np

from draw import Node, Operand

from .values import texts

KEY = "ai.onnx.ml"
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]


def table(d, label="T", low=2, high=2, types="fi"):
    return d.main(label, low=low, high=high, only=lambda t: t.kind in types, fits=lambda s: 0 not in s,
                  values=lambda t, s: d.array(t, s, special=False))


def numbers(d, count, low=-2, high=2):
    return [round(float(v), 3) for v in d.random.uniform(low, high, count)]


def binarizer(d):
    return Node([table(d, low=1, high=3)], d.some(threshold=lambda: 0.5))


def scaler(d):
    x = table(d, low=1)
    width = x.value.shape[-1]
    return Node([x], {"offset": numbers(d, d.pick([1, width])), "scale": numbers(d, d.pick([1, width]))})


def imputer(d):
    width = d.int(1, 6)
    d.dtype("T", lambda t: t in (np.float32, np.int64))
    x = d.main("T", [d.int(1, 5), width], values=lambda t, s: d.array(t, s, -2, 2).round())
    count = d.pick([1, width])
    if x.value.dtype.kind == "f":
        return Node([x], {"imputed_value_floats": numbers(d, count), "replaced_value_float": d.pick([0.0, 1.0, float("nan")])})
    return Node([x], {"imputed_value_int64s": [d.int(-5, 5) for _ in range(count)], "replaced_value_int64": 1})


def normalizer(d):
    return Node([table(d, types="f")], {"norm": d.pick(["MAX", "L1", "L2"])}, atol=1e-4)


def feature_extractor(d):
    x = table(d, low=1, high=3)
    return Node([x, Operand(np.array([d.int(0, x.value.shape[-1] - 1) for _ in range(d.int(1, 4))], np.int64), 0.4)])


def label_encoder(d):
    words = ["a", "b", "c", "d"]
    kinds = {"strings": (words, object), "int64s": ([1, 2, 3, 4], np.int64), "floats": ([1.5, 2.5, 3.5, 4.5], np.float32)}
    if d.version == 1:
        if d.chance(0.5):
            return Node([Operand(texts(d, d.dims(1, 2), words + ["z"]), 0.1)], {"classes_strings": words, "default_int64": -7})
        return Node([Operand(d.array(np.int64, d.dims(1, 2), -1, 5), 0.1)], {"classes_strings": words, "default_string": "none"})
    source, target = d.pick([("strings", "int64s"), ("int64s", "strings"), ("strings", "floats"), ("floats", "strings"),
                             ("int64s", "floats"), ("floats", "int64s"), ("strings", "strings"), ("int64s", "int64s")])
    keys, dtype = kinds[source]
    options = keys + [type(keys[0])(9)] if source != "strings" else keys + ["z"]
    dims = d.dims(1, 3, limit=200)
    values = np.array([d.pick(options) for _ in range(int(np.prod(dims)))], dtype).reshape(dims)
    return Node([Operand(values, 0.1)], {f"keys_{source}": keys, f"values_{target}": kinds[target][0]})


def category_mapper(d):
    words = ["a", "b", "c"]
    attributes = {"cats_int64s": [3, 5, 9], "cats_strings": words, "default_int64": -1, "default_string": "?"}
    if d.chance(0.5):
        return Node([Operand(texts(d, d.dims(1, 2), words + ["z"]), 0.1)], attributes)
    return Node([Operand(np.array([d.pick([3, 5, 9, 4]) for _ in range(5)], np.int64), 0.1)], attributes)


def one_hot_encoder(d):
    if d.chance(0.3):
        return Node([Operand(texts(d, d.dims(1, 2), ["a", "b", "z"]), 0.1)], {"cats_strings": ["a", "b"], "zeros": 1})
    d.dtype("T", lambda t: t.kind in "fi")
    return Node([d.main("T", d.dims(1, 2, limit=100), values=lambda t, s: d.array(t, s, 0, 4).round())],
                {"cats_int64s": [0, 1, 2, 3, 4], "zeros": 1})


def feature_vectorizer(d):
    rows, widths = d.int(1, 3), [d.int(1, 4) for _ in range(d.int(1, 3))]
    d.dtype("T1", lambda t: t.kind in "fi")
    return Node([d.operand("T1", [rows, w], special=False) if d.bound["T1"].kind == "f" else d.operand("T1", [rows, w])
                 for w in widths], {"inputdimensions": widths})


def linear_regressor(d):
    x = table(d, types="f")
    targets = d.int(1, 3)
    return Node([x], {"coefficients": numbers(d, targets * x.value.shape[1]), "intercepts": numbers(d, targets),
                      "targets": targets}, atol=1e-3)


def linear_classifier(d):
    d.dtype("T1", lambda t: t == np.float32)
    x = d.main("T1", [d.int(1, 6), d.int(1, 6)], values=d.moderate)
    classes = d.int(2, 4)
    return Node([x], {"coefficients": numbers(d, classes * x.value.shape[1]), "intercepts": numbers(d, classes),
                      "classlabels_ints": list(range(classes)), "post_transform": d.pick(TRANSFORMS)}, outputs=2, atol=1e-3)


def forest(d, width):
    """Complete binary trees of depth 2 (nodes 0 to 6), and the trees and nodes of their leaves."""
    count, inner, leaves = d.pick([1, 1, d.int(2, 20)]), [0, 1, 2], [3, 4, 5, 6]
    result = {name: [] for name in ("nodes_nodeids", "nodes_treeids", "nodes_modes", "nodes_featureids", "nodes_values",
                                    "nodes_truenodeids", "nodes_falsenodeids", "nodes_missing_value_tracks_true")}
    modes = ["BRANCH_LEQ"] if d.chance(0.6) else ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
    for tree in range(count):
        for name, values in {
                "nodes_nodeids": inner + leaves, "nodes_treeids": [tree] * 7, "nodes_modes": [d.pick(modes) for _ in inner] + ["LEAF"] * 4,
                "nodes_featureids": [d.int(0, width - 1) for _ in inner] + [0] * 4,
                "nodes_values": [d.pick([-1.0, -0.5, 0.0, 0.5, 1.0]) for _ in inner] + [0.0] * 4,
                "nodes_truenodeids": [1, 3, 5, 0, 0, 0, 0], "nodes_falsenodeids": [2, 4, 6, 0, 0, 0, 0],
                "nodes_missing_value_tracks_true": [d.int(0, 1) for _ in inner] + [0] * 4}.items():
            result[name] += values
    return result, [tree for tree in range(count) for _ in leaves], leaves * count


def halves(d, t, s):
    values = d.random.integers(-4, 5, s) / 2
    if d.chance(0.2) and np.dtype(t).kind == "f":
        values.reshape(-1)[0] = np.nan
    return values.astype(t)


def tree_regressor(d):
    d.dtype("T", lambda t: t == np.float32)
    x = d.main("T", [d.int(1, 20), d.int(1, 5)], values=lambda t, s: halves(d, t, s))
    attributes, trees, leaves = forest(d, x.value.shape[1])
    targets = d.int(1, 2)
    attributes.update(target_treeids=trees, target_nodeids=leaves, target_ids=[d.int(0, targets - 1) for _ in leaves],
                      target_weights=numbers(d, len(leaves)), n_targets=targets,
                      aggregate_function=d.pick(["SUM", "AVERAGE", "MIN", "MAX"]))
    if d.chance(0.4):
        attributes["base_values"] = numbers(d, targets)
    return Node([x], attributes, atol=1e-4)


def tree_classifier(d):
    d.dtype("T1", lambda t: t == np.float32)
    x = d.main("T1", [d.int(1, 20), d.int(1, 5)], values=lambda t, s: halves(d, t, s))
    attributes, trees, leaves = forest(d, x.value.shape[1])
    classes = d.int(2, 3)
    attributes.update(class_treeids=trees, class_nodeids=leaves, class_ids=[i % classes for i in range(len(leaves))],
                      class_weights=numbers(d, len(leaves), 0.1, 1), classlabels_int64s=list(range(classes)),
                      post_transform=d.pick(TRANSFORMS[:3]))
    return Node([x], attributes, outputs=2, atol=1e-4)


def support_vectors(d, width, count):
    return {"kernel_type": d.pick(["LINEAR", "POLY", "RBF", "SIGMOID"]), "kernel_params": [0.3, 0.5, 2.0],
            "support_vectors": numbers(d, width * count)}


def svm_regressor(d):
    d.dtype("T", lambda t: t == np.float32)
    x = d.main("T", [d.int(1, 6), d.int(1, 5)], values=d.moderate)
    count = d.int(1, 4)
    return Node([x], dict(support_vectors(d, x.value.shape[1], count), coefficients=numbers(d, count), rho=numbers(d, 1),
                          n_supports=count), atol=1e-2)


def svm_classifier(d):
    d.dtype("T1", lambda t: t == np.float32)
    x = d.main("T1", [d.int(1, 6), d.int(1, 5)], values=d.moderate)
    counts = [d.int(1, 3), d.int(1, 3)]
    attributes = dict(support_vectors(d, x.value.shape[1], sum(counts)), coefficients=numbers(d, sum(counts)),
                      rho=numbers(d, 1), vectors_per_class=counts, classlabels_ints=[0, 1])
    if d.chance(0.4):
        attributes.update(prob_a=[0.5], prob_b=[0.1])
    return Node([x], attributes, outputs=2, atol=1e-2)


TABLE = {(KEY, name): make for name, make in {
    "Binarizer": binarizer, "Scaler": scaler, "Imputer": imputer, "Normalizer": normalizer,
    "ArrayFeatureExtractor": feature_extractor, "LabelEncoder": label_encoder, "CategoryMapper": category_mapper,
    "OneHotEncoder": one_hot_encoder, "FeatureVectorizer": feature_vectorizer, "LinearRegressor": linear_regressor,
    "LinearClassifier": linear_classifier, "TreeEnsembleRegressor": tree_regressor,
    "TreeEnsembleClassifier": tree_classifier, "SVMRegressor": svm_regressor, "SVMClassifier": svm_classifier}.items()}
