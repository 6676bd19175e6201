"""stub"""

from thinkwire.model import Notices, Request, Rules


def decode_request(body: bytes, notices: Notices) -> Request:
    return Request()


def encode_request(request: Request, source: str, notices: Notices, rules: Rules, model: str | None) -> bytes:
    return b"{}"
