"""Requests to AWS signed with the caller's credential chain (SigV4). Needs the extra `bedrock`, which brings botocore.

botocore knows where credentials may come from (environment, profile, container, instance, SSO) and how they are
refreshed; only the signing of one request is done per request. A refresh may ask the network, so it is done in a
thread, before a request is planned.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from thinkwire.faults import Fault, Misuse

AWS = "aws"
"""The value of a backend's `key` that asks for this."""

_SERVICE = "bedrock"
_REGION = re.compile(r"bedrock-(?:runtime|mantle)(?:-fips)?\.([a-z0-9-]+)\.")


class Signer:
    """`refresh()` before a request, `headers(…)` for it."""

    def __init__(self, host: str, region: str | None) -> None:
        found = _REGION.match(host)
        self._region = region or (found[1] if found else None)
        if self._region is None:
            raise Misuse(f'the region of {host} is not known: set region = "…" for this backend')
        self._credentials: Any = None

    async def refresh(self) -> None:
        """Loads the credentials, or renews them when they are about to expire. Raises `Fault`."""
        try:
            await asyncio.to_thread(self._load)
        except ImportError:
            raise Fault(
                "authentication",
                'signing needs botocore: pip install "thinkwire[bedrock]"',
                blame="gateway",
                status=500,
            ) from None

    def _load(self) -> None:
        from botocore.session import Session  # noqa: PLC0415  # an extra, and slow to import

        if self._credentials is None:
            self._credentials = Session().get_credentials()
        if self._credentials is None:
            raise Fault("authentication", "no AWS credentials were found", blame="gateway", phase="request")
        self._credentials.get_frozen_credentials()

    def headers(self, url: str, body: bytes) -> bytes:
        """The lines that sign a POST of this body."""
        from botocore.auth import SigV4Auth  # noqa: PLC0415
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415

        request = AWSRequest("POST", url, headers={"content-type": "application/json"}, data=body)
        SigV4Auth(self._credentials.get_frozen_credentials(), _SERVICE, self._region).add_auth(request)
        signed = {name: value for name, value in request.headers.items() if name.lower() != "content-type"}
        return b"".join(f"{name}: {value}\r\n".encode() for name, value in signed.items())
