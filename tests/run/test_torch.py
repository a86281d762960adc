"""torch tensors, by a stand-in that has the attributes that are read (run against torch itself where it is)."""

from types import SimpleNamespace
from typing import Any

import pytest

from tilegen.dtypes import BF16, DTYPES, F32
from tilegen.errors import ArgumentTypeError
from tilegen.run.arrays import ArrayKind, view


def tensor(**changed: Any) -> Any:
    kind = type("Tensor", (SimpleNamespace,), {"__module__": "torch"})
    values = {
        "dtype": "torch.float32",
        "layout": "torch.strided",
        "device": SimpleNamespace(type="cuda", index=1),
        "shape": (2, 3),
        "requires_grad": False,
        "is_conj": lambda: False,
        "is_neg": lambda: False,
        "element_size": lambda: 4,
        "data_ptr": lambda: 4096,
        "stride": lambda: (1, 2),
    }
    return kind(**{**values, **changed})


def test_strides_are_bytes_and_the_device_is_kept() -> None:
    seen = view(tensor())
    assert (seen.kind, seen.element, seen.shape, seen.strides) == (ArrayKind.TORCH, F32, (2, 3), (4, 8))
    assert (seen.pointer, seen.device, seen.readonly) == (4096, 1, False)
    assert view(tensor(dtype="torch.bfloat16")).element == BF16
    assert view(tensor(device=SimpleNamespace(type="cpu", index=None))).device is None
    assert view(tensor(requires_grad=True)).readonly


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"dtype": "torch.qint8"}, "no element type for torch.qint8"),
        ({"layout": "torch.sparse_coo"}, "use .to_dense()"),
        ({"is_conj": lambda: True}, "resolve_conj"),
        ({"is_neg": lambda: True}, "resolve_neg"),
        ({"device": SimpleNamespace(type="meta", index=None)}, "expected cpu or cuda"),
    ],
)
def test_what_is_not_plain_memory(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=message):
        view(tensor(**changed), name="x")


def test_against_torch_itself() -> None:
    torch = pytest.importorskip("torch", reason="torch is no dependency of tilegen")
    from tilegen.run.arrays import empty, like, on_host

    for name, element in DTYPES.items():
        try:
            made = empty(ArrayKind.TORCH, (3, 4), element)
        except ArgumentTypeError:
            continue
        assert view(made.T).element == element, name
    x = torch.arange(12, dtype=torch.float32).reshape(3, 4).to(torch.bfloat16).T
    host = on_host(view(x))
    assert host.shape == (4, 3) and host[1, 2] == 9
    host[0, 0] = 5
    assert x[0, 0] == 5
    assert like(view(x), (2,), F32).dtype == torch.float32
    with pytest.raises(ArgumentTypeError, match="resolve_conj"):
        view(torch.zeros(3, dtype=torch.complex64).conj())
