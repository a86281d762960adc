"""Launch a compiled kernel on a GPU, through CuPy's interface to the driver. Prepare once, call often."""

from __future__ import annotations

import struct
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tilegen.errors import INSTALL, LaunchError
from tilegen.run.arrays import ArrayKind, ArrayView
from tilegen.run.config import LaunchConfig, Packer, check_config, launch_bounds, needs_opt_in
from tilegen.target import Target
from tilegen.toolchain import Compiled, ToolchainMissing

# CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, from cuda.h.
_MAX_DYNAMIC_SHARED = 8


def gpu() -> Any:
    """CuPy, once it is sure that there is a GPU. Raises ToolchainMissing."""
    try:
        import cupy
    except ImportError as error:
        raise ToolchainMissing(f"launching needs CuPy, which cannot be imported: {error}", INSTALL) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise _no_gpu(str(error)) from error
    if count == 0:
        raise _no_gpu("the driver lists none")
    return cupy


def _no_gpu(reason: str) -> ToolchainMissing:
    return ToolchainMissing(
        f"launching needs an NVIDIA GPU and its driver: {reason}",
        "run on a machine with one, or simulate: leave `--on gpu` out, or pass NumPy arrays",
    )


def loadable_image(compiled: Compiled, capability: tuple[int, int]) -> bytes:
    """What to load on a device: the cubin where it is binary compatible, else the PTX for the driver to compile.

    A cubin runs on its own major capability with the same or a higher minor, one for `sm_90a` on 9.0 alone
    (CUDA Programming Guide, "Binary Compatibility"). Raises LaunchError for a device older than the target.
    """
    target = compiled.target
    suffix = target.name[-1]
    if suffix == "a" and capability != target.capability:
        raise LaunchError(f"code for {target} runs on compute capability {target.major}.{target.minor} alone")
    if capability < target.capability or (suffix == "f" and capability[0] != target.major):
        raise LaunchError(
            f"code for {target} does not run on a device of compute capability {capability[0]}.{capability[1]}"
        )
    if compiled.cubin is not None and capability[0] == target.major:
        return compiled.cubin
    return compiled.ptx.encode()


def stream_of(arrays: Sequence[ArrayView]) -> int:
    """The stream the caller is working on: torch's current one if an array is torch's, else CuPy's."""
    for array in arrays:
        if array.kind is ArrayKind.TORCH and array.device is not None:
            return int(sys.modules["torch"].cuda.current_stream(array.device).cuda_stream)
    return int(gpu().cuda.get_current_stream().ptr)


def wait_for(arrays: Sequence[ArrayView], stream: int) -> None:
    """Make `stream` wait for the streams on which arrays become ready, where their library named one."""
    foreign = {array.stream for array in arrays if array.stream is not None} - {stream}
    if not foreign:
        return
    runtime = gpu().cuda.runtime
    for other in sorted(foreign):
        event = runtime.eventCreateWithFlags(runtime.eventDisableTiming)
        try:
            runtime.eventRecord(event, other)
            runtime.streamWaitEvent(stream, event)
        finally:
            runtime.eventDestroy(event)


@dataclass(slots=True)
class _Loaded:
    """A kernel on one device. `module` keeps the code there; `shared` is the dynamic shared memory it may have."""

    module: Any
    function: int
    shared: int = 0


class Kernel:
    """One kernel of a compilation, ready to launch on any device; loaded on each at its first launch there.

    `formats` are the parameters' types for `Packer`: `Q` for a pointer, `i` or `q` for a size.
    """

    def __init__(self, compiled: Compiled, entry: str, formats: Sequence[str]) -> None:
        self.compiled = compiled
        self.name = compiled.entries[entry]
        self.packer = Packer(formats)
        self.max_threads = launch_bounds(compiled.ptx, self.name)
        used = compiled.resources.get(self.name)
        self.static_shared_bytes = used.static_shared_bytes if used is not None else 0
        limit = compiled.target.parameter_bytes
        if self.packer.size > limit:
            size = self.packer.size
            raise LaunchError(f"parameters of '{entry}' take {size} bytes; {compiled.target} allows {limit}")
        self._loaded: dict[int, _Loaded] = {}
        self._lock = threading.Lock()

    @property
    def target(self) -> Target:
        return self.compiled.target

    def __call__(
        self,
        config: LaunchConfig,
        values: Sequence[int | float],
        *,
        device: int = 0,
        stream: int | None = None,
    ) -> None:
        """Launch, without waiting for the end. An empty grid launches nothing.

        `values` are pointers and scalars, as `formats` has them, with any number for a pointer to scratch memory;
        `stream` is CuPy's current one if None.
        Raises LaunchError and, without a GPU, ToolchainMissing.
        """
        check_config(
            config, self.target, static_shared_bytes=self.static_shared_bytes, max_threads=self.max_threads
        )
        if config.is_empty:
            return
        cupy = gpu() if not self._loaded else sys.modules["cupy"]
        with cupy.cuda.Device(device):
            loaded = self._loaded.get(device) or self._load(cupy, device)
            if config.dynamic_shared_bytes > loaded.shared and needs_opt_in(
                config, self.target, self.static_shared_bytes
            ):
                cupy.cuda.driver.funcSetAttribute(
                    loaded.function, _MAX_DYNAMIC_SHARED, config.dynamic_shared_bytes
                )
                loaded.shared = config.dynamic_shared_bytes
            if stream is None:
                stream = cupy.cuda.get_current_stream().ptr
            memory = None
            if config.scratch is not None:
                memory, values = config.scratch.allocate(cupy, stream, values)
            parameters = self.packer.pack(values)
            try:
                cupy.cuda.driver.launchKernel(
                    loaded.function,
                    *config.grid,
                    *config.block,
                    config.dynamic_shared_bytes,
                    stream,
                    parameters,
                    0,
                )
            except cupy.cuda.driver.CUDADriverError as error:
                raise LaunchError(
                    f"the driver refused to launch '{self.name}' as {config}: {error}"
                ) from error
            del memory  # back to the pool, for what comes later on this stream

    def launcher(
        self, config: LaunchConfig, device: int
    ) -> Callable[[Sequence[int | float], int | None], None]:
        """A function of (values, stream) that does what a call does, after one such launch has been made.

        What a launch of `config` on `device` needs is looked up here, once; what is left for each launch is to pack
        the values and to find the current stream.
        """
        cupy = gpu()
        loaded = self._loaded.get(device)
        if loaded is None or config.is_empty:
            raise ValueError(f"'{self.name}' was not launched as {config} on device {device} yet")
        function, shared, scratch = loaded.function, config.dynamic_shared_bytes, config.scratch
        (grid_x, grid_y, grid_z), (x, y, z) = config.grid, config.block
        current_device, current_stream = cupy.cuda.runtime.getDevice, cupy.cuda.get_current_stream
        driver_launch, refused = cupy.cuda.driver.launchKernel, cupy.cuda.driver.CUDADriverError
        pack_into, thread = self.packer.struct.pack_into, threading.local()

        def launch(values: Sequence[int | float], stream: int | None) -> None:
            # The first launch of a thread goes the full way, which makes the device's context its own.
            if current_device() == device:
                try:
                    buffer, table = thread.slot
                    where = current_stream().ptr if stream is None else stream
                    if scratch is None:
                        pack_into(buffer, 0, *values)
                    else:
                        _kept, filled = scratch.allocate(cupy, where, values)
                        pack_into(buffer, 0, *filled)
                    driver_launch(function, grid_x, grid_y, grid_z, x, y, z, shared, where, table, 0)
                    return
                except (AttributeError, struct.error, OverflowError, refused):
                    pass  # the full way says why
            self(config, values, device=device, stream=stream)
            thread.slot = self.packer.slot()

        return launch

    def _load(self, cupy: Any, device: int) -> _Loaded:
        with self._lock:
            if device not in self._loaded:
                number = str(cupy.cuda.Device(device).compute_capability)
                module = cupy.cuda.function.Module()
                module.load(loadable_image(self.compiled, (int(number[:-1]), int(number[-1]))))
                self._loaded[device] = _Loaded(module, module.get_function(self.name).ptr)
            return self._loaded[device]
