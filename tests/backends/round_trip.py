"""A GiB from here to CuPy, to PyTorch and back, under CUPTI: prints what crossed to or from the
host, as JSON. ``python -m tests.backends.round_trip``."""

from __future__ import annotations

import ctypes
import json

from bench.cupti import ending
from bench.cupti.buffers import Buffers, records_in
from bench.cupti.library import Cupti, find
from bench.page_migrations.collection import Collection

COUNT = 1 << 28
#: CUpti_ActivityKind, and CUpti_ActivityMemcpyKind of copies with an end on the host.
_COPY, _ACROSS = 1, (1, 2, 3, 4, 9)


class CopyHead(ctypes.Structure):
    """CUpti_ActivityMemcpy, all versions, up to its times."""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("copyKind", ctypes.c_uint8),
        ("srcKind", ctypes.c_uint8),
        ("dstKind", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
        ("bytes", ctypes.c_uint64),
        ("start", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
    )


def main() -> None:
    from sharedoa.backends.cuda_driver import load_driver

    load_driver()
    cupti, buffers = Cupti.load(find()), Buffers()
    collection = Collection(cupti, buffers)
    collection.start()
    cupti.call("cuptiActivityEnable", _COPY)

    import cupy
    import torch

    import sharedoa as oa

    from .test_foreign_streams import set_all, twice

    with oa.Heap(backend="cuda", capacity="3GiB"):
        array = oa.zeros(COUNT, oa.f32)
        # What is loaded and allocated at the first use is not what is counted, nor are the words of
        # the heap's state that a kernel is given once.
        set_all[COUNT](array, 1.0)
        cupy.zeros(4, cupy.float32) + 1
        (torch.zeros(4, device="cuda") + 1).sum().item()
        twice[4](torch.zeros(4, device="cuda"))
        oa.current_heap().synchronize()
        torch.cuda.synchronize()
        begun = cupti.timestamp()
        theirs = cupy.from_dlpack(array)
        theirs *= 2
        # CuPy exports memory that it did not allocate as managed, which DLPack of PyTorch refuses.
        tensor = torch.as_tensor(theirs, device="cuda")
        cupy.cuda.get_current_stream().synchronize()
        tensor += 1
        twice[COUNT](tensor)
        addresses = [array.address, theirs.data.ptr, tensor.data_ptr()]
        oa.current_heap().synchronize()
        torch.cuda.synchronize()
        done = cupti.timestamp()
        ends = [tensor[0].item(), tensor[-1].item(), float(array[COUNT // 2])]
    found = collection.finish()
    copied = 0
    for buffer, valid in buffers.filled():
        for address in records_in(cupti, buffer, valid):
            record = CopyHead.from_address(address)
            if record.kind == _COPY and begun <= record.start <= done:
                copied += record.bytes if record.copyKind in _ACROSS else 0
    moved = sum(each.bytes for each in found.migrations if begun <= each.start <= done)
    print(
        json.dumps(
            {
                "copied": copied,
                "moved": moved,
                "kernels": sum(begun <= each.start <= done for each in found.kernels),
                "refused": collection.refused,
                "gaps": collection.gaps,
                "same": len({*addresses}) == 1,
                "values": ends,
            }
        )
    )


if __name__ == "__main__":
    ending.run(main)
