"""What OpenAI's two protocols have in common: the list of models and the error."""

from __future__ import annotations

from thinkwire.lab.speakers.speaker import CREATED
from thinkwire.lab.turn import Json, Refused

ERROR_TYPES = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error", 529: "overloaded_error"}

BROKEN = "The server had an error while it was answering."


def model_list(model: str) -> Json:
    return {
        "object": "list",
        "data": [{"id": model, "object": "model", "created": CREATED, "owned_by": "thinkwire-lab"}],
    }


def error(refused: Refused) -> Json:
    """The inside of an error body."""
    kind = ERROR_TYPES.get(refused.status, "invalid_request_error")
    return {"message": refused.message, "type": kind, "param": refused.param, "code": refused.code}
