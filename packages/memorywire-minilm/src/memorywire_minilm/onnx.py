"""Matrix products with onnxruntime, for machines without the C kernel; all else is in `portable`.

The graph of a product is one node, `MatMulInteger`, encoded here as a protocol buffer. Both operands are
unsigned, because products of signed bytes saturate on processors without dot product instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from memorywire_minilm.portable import Floats, Product

MIDDLE = 128
VARINT, BYTES = 0, 2
UINT8, INT32 = 2, 6


def open_product(weights: Floats) -> Product:
    """Return a function that multiplies rows of integers from -127 to 127 by these weights, exactly."""
    import onnxruntime

    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    model = build_model((weights + MIDDLE).astype(np.uint8))
    session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def multiply(steps: Floats) -> Floats:
        (sums,) = session.run(None, {"rows": (steps + MIDDLE).astype(np.uint8)})
        product: Floats = sums.astype(np.float32)
        return product

    return multiply


def build_model(weights: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    """Return an ONNX model that multiplies `rows` by the weights, both with the zero point 128."""
    inputs, outputs = weights.shape
    node = b"".join(_field(1, name) for name in (b"rows", b"weights", b"zero", b"zero"))
    node += _field(2, b"sums") + _field(4, b"MatMulInteger")
    graph = _field(1, node) + _field(2, b"product")
    graph += _field(5, _tensor(b"weights", (inputs, outputs), weights.tobytes()))
    graph += _field(5, _tensor(b"zero", (), bytes([MIDDLE])))
    graph += _field(11, _value(b"rows", UINT8, inputs)) + _field(12, _value(b"sums", INT32, outputs))
    opset = _field(1, b"") + _field(2, 13)
    return _field(1, 8) + _field(7, graph) + _field(8, opset)


def _tensor(name: bytes, shape: tuple[int, ...], data: bytes) -> bytes:
    sizes = b"".join(_field(1, size) for size in shape)
    return sizes + _field(2, UINT8) + _field(8, name) + _field(9, data)


def _value(name: bytes, kind: int, width: int) -> bytes:
    """Encode the type of a matrix with any number of rows of this width."""
    shape = _field(1, _field(2, b"count")) + _field(1, _field(1, width))
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | VARINT) + _varint(value)
    return _varint(number << 3 | BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
