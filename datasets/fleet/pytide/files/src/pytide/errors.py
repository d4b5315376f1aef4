%%born errors
%%moved src-layout pytide/errors.py
"""What can go wrong between here and the hub."""


class HubError(Exception):
    """The hub answered with an error.

    Parameters
    ----------
    status
        HTTP status.
    message
        What the hub said.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"hub answered {status}: {message}")
        self.status = status


class StationUnknown(HubError):
    """No gauge has this code."""
