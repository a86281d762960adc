from typing import Any


def check_expectations(*a: Any) -> Any:
    return ()
