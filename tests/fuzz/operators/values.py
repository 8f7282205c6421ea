"""Strings, sequences and optionals."""
import numpy as np

from draw import DTYPES, Impossible, Node, Operand, WORDS, element_type


def texts(d, dims, words=WORDS):
    count = int(np.prod(dims))
    return np.array([d.pick(words) for _ in range(count)], object).reshape(dims)


def string_concat(d):
    dims = d.dims(limit=200)
    return Node([Operand(texts(d, dims), 0.2), Operand(texts(d, d.broadcast(dims)), 0.3)])


def string_split(d):
    words = WORDS + ["a,b,,c", ",", "  x  y ", "a--b", "--"]
    x = Operand(texts(d, d.dims(0, 3, limit=60), words), 0.2)
    return Node([x], d.some(delimiter=lambda: d.pick([",", "--", " ", ""]), maxsplit=lambda: d.int(0, 3)), outputs=2)


def string_normalizer(d):
    dims = d.pick([[d.int(1, 5)], [1, d.int(1, 5)]])
    words = ["a", "A", "b", "Bc", "été", "ÉTÉ", "zebra"]
    return Node([Operand(texts(d, dims, words), 0.2)],
                d.some(case_change_action=lambda: d.pick(["NONE", "LOWER", "UPPER"]), is_case_sensitive=lambda: d.int(0, 1),
                       stopwords=lambda: [d.pick(words), d.pick(words)]))


def regex(d):
    pattern = d.pick(["a.*", "[0-9]+", "", ".*", "(a|b)+", "\\s*x", "a{2,3}", "日."])
    return Node([Operand(texts(d, d.dims(0, 3, limit=60)), 0.2)], {"pattern": pattern})


def elements(d, dtype, count, dims=None):
    return [np.asarray(d.array(dtype, dims if dims is not None else d.dims(0, 3, limit=100))) for _ in range(count)]


COMMON = [np.dtype(t) for t in (np.float32, np.int64, np.float64, np.int32, bool)]


def at(d, count, label="I"):
    return Operand(np.array(d.int(-count, count - 1), d.dtype(label)), 0.4, static=True)


def sequence_at(d):
    values = elements(d, d.pick(COMMON), d.int(1, 4))
    return Node([Operand(values), at(d, len(values))])


def sequence_insert(d):
    dtype = d.pick(COMMON)
    values = elements(d, dtype, d.int(1, 4))
    return Node([Operand(values), Operand(elements(d, dtype, 1)[0], 0.2), d.maybe(at(d, len(values)))])


def sequence_erase(d):
    values = elements(d, d.pick(COMMON), d.int(2, 4))
    return Node([Operand(values), d.maybe(at(d, len(values)))])


def sequence_construct(d):
    return Node([Operand(v, 0.2) for v in elements(d, d.pick(COMMON), d.int(1, 4))])


def sequence_length(d):
    return Node([Operand(elements(d, d.pick(COMMON), d.int(1, 4)))])


def concat_from_sequence(d):
    dims = d.dims(1, 3, limit=200)
    axis = d.axis(len(dims))
    new = d.int(0, 1)
    parts = []
    for _ in range(d.int(1, 4)):
        part = list(dims)
        if not new:
            part[axis] = d.int(0, 4)
        parts.append(part)
    dtype = d.pick(COMMON)
    return Node([Operand([np.asarray(d.array(dtype, p)) for p in parts])], dict(d.some(new_axis=new) if not new else
                                                                              {"new_axis": 1}, axis=axis))


def split_to_sequence(d):
    x = d.main("T", low=1, only=lambda t: t in COMMON)
    axis = d.axis(x.value.ndim)
    total = x.value.shape[axis]
    how = d.random.random()
    keep = d.some(keepdims=lambda: d.int(0, 1))
    if how < 0.4 or total == 0:
        return Node([x], dict(keep, axis=axis))
    if how < 0.7:
        return Node([x, Operand(np.array(d.int(1, total), np.int64), 0.5)], {"axis": axis})
    cut = d.int(0, total)
    return Node([x, d.list([cut, total - cut])], {"axis": axis})


def tf_idf(d):
    pool = [1, 2, 3, 4, 5, 6, 1, 2, 3, 4]
    x = d.main("T", d.pick([[d.int(1, 8)], [d.int(1, 3), d.int(1, 8)]]), only=lambda t: t in (np.int32, np.int64),
               values=lambda t, s: d.array(t, s, 0, 7))
    return Node([x], {"max_gram_length": 2, "min_gram_length": d.int(1, 2), "max_skip_count": d.int(0, 2),
                      "mode": d.pick(["TF", "IDF", "TFIDF"]), "ngram_counts": [0, 6], "ngram_indexes": list(range(8)),
                      "pool_int64s": pool, "weights": [float(i) / 2 for i in range(8)]})


TABLE = {"StringConcat": string_concat, "StringSplit": string_split, "StringNormalizer": string_normalizer,
         "RegexFullMatch": regex, "SequenceAt": sequence_at, "SequenceInsert": sequence_insert,
         "SequenceErase": sequence_erase, "SequenceConstruct": sequence_construct, "SequenceLength": sequence_length,
         "ConcatFromSequence": concat_from_sequence, "SplitToSequence": split_to_sequence, "TfIdfVectorizer": tf_idf}
