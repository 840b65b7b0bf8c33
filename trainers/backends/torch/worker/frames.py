"""Frames between Lyceum and the worker.

A frame is a u32 with the length of its header, a u32 with the length of its arrays, a JSON header and the arrays, one
after another. All numbers are little-endian. The header's `arrays` lists name, type and shape of each array.
"""

from __future__ import annotations

import json
import struct
import threading
from typing import Any, BinaryIO, Mapping

import numpy

Arrays = Mapping[str, numpy.ndarray]
Frame = tuple[dict[str, Any], dict[str, numpy.ndarray]]

MAX_HEADER_BYTES = 64 * 2**20
MAX_ARRAY_BYTES = 512 * 2**20
TYPES = {"i32": "<i4", "f32": "<f4", "u8": "|u1"}
NAMES = {numpy.dtype(code): name for name, code in TYPES.items()}


class WorkerError(Exception):
    """An error with a code of Lyceum and a hint that says what to do next."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


def encode(message: Mapping[str, Any], arrays: Arrays) -> tuple[bytes, bytes]:
    """Returns the header and the arrays of a frame."""
    listed, parts = [], []
    for name, array in arrays.items():
        listed.append([name, NAMES[array.dtype], list(array.shape)])
        parts.append(numpy.ascontiguousarray(array).tobytes())
    return json.dumps({**message, "arrays": listed}).encode(), b"".join(parts)


def decode(header: bytes, body: bytes) -> Frame:
    """Returns what `encode` was given."""
    message = json.loads(header)
    arrays: dict[str, numpy.ndarray] = {}
    start = 0
    for name, kind, shape in message.pop("arrays", []):
        dtype = numpy.dtype(TYPES[kind])
        count = int(numpy.prod(shape, dtype=numpy.int64))
        arrays[name] = numpy.frombuffer(body, dtype, count, start).reshape(shape)
        start += count * dtype.itemsize
    return message, arrays


class Stream:
    """Reads and writes frames. Several threads may write, one may read."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._writer = writer
        self._lock = threading.Lock()

    def read(self) -> Frame | None:
        """Returns the next header and its arrays, or None at the end of the stream."""
        lengths = self._exactly(8)
        if lengths is None:
            return None
        header_bytes, array_bytes = struct.unpack("<II", lengths)
        if header_bytes > MAX_HEADER_BYTES or array_bytes > MAX_ARRAY_BYTES:
            raise ValueError(f"A frame of {header_bytes} and {array_bytes} bytes is too large.")
        header, body = self._exactly(header_bytes), self._exactly(array_bytes)
        if header is None or body is None:
            return None
        return decode(header, body)

    def write(self, message: Mapping[str, Any], arrays: Arrays | None = None) -> None:
        """Writes one frame."""
        header, body = encode(message, arrays or {})
        with self._lock:
            self._writer.write(struct.pack("<II", len(header), len(body)) + header)
            self._writer.write(body)
            self._writer.flush()

    def _exactly(self, count: int) -> bytes | None:
        data = self._reader.read(count)
        return data if data is not None and len(data) == count else None
