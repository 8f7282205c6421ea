#!/usr/bin/env python3
"""Writes cases/*.json, one file for each of families/*.py: single nodes with what ONNX Runtime's CPU provider gives for
them; where it has no kernel, what ONNX's reference evaluator or NumPy gives.

Needs onnx, numpy and onnxruntime. Nothing else in the project needs Python; the cases are committed.
"""
import importlib

from case_maker import write

# In this order: they draw from one source of random numbers.
FAMILIES = """fused attention quantized old_versions integer_products recurrent first_versions random_numbers further edges
    contributed casts regions ranks windows convolutions movement narrow_weights transposed_convolutions
    selections sliding_windows products_in_bytes winograd gathers
    shared_operands integer_shrinks halves padding_alone long_transforms transposed_phases few_columns requantized far_taps recurrent_halves
    short_axes many_parts forests layouts large_steps skipped_taps single_pixels patches few_inside few_products odd_panels
    short_rows""".split()

if __name__ == "__main__":
    for family in FAMILIES:
        write(family, list(getattr(importlib.import_module(f"families.{family}"), family)()))
