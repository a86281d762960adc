from typing import Any


def check_schedules(*a: Any) -> Any:
    return ()
