from typing import Any


def check_tests(*a: Any) -> Any:
    return ()
