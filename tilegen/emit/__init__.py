"""Files for other projects: one `.cu` and one `.h` per kernel, the same bytes on every machine."""

from tilegen.emit.files import Written, write
from tilegen.emit.generate import Emitted, Request, generate, requests

__all__ = ["Emitted", "Request", "Written", "generate", "requests", "write"]
