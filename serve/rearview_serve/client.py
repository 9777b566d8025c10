"""The service over HTTP, for the command line and the sample: the REST objects, our own errors."""

from collections.abc import Iterator
from typing import IO, Any

import httpx

from rearview_pipelines import errors
from rearview_serve.errors import STATUS

CHUNK = 2**16
_BY_STATUS = {status: kind for kind, status in reversed(STATUS.items())}
"""Of several with one status, the first of the table: the commonest."""


class Unreachable(errors.Unavailable):
    """Nothing answers at the address."""

    title = "Cannot reach the service"


class Client:
    """One service. `seconds`: how long to wait for an answer."""

    def __init__(self, url: str, token: str, seconds: float = 60.0) -> None:
        self.url = url
        self._http = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=seconds, trust_env=False
        )

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The JSON answer. Raises the error that the service named, or Unreachable."""
        try:
            answer = self._http.request(method, path, json=body, **options)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        if answer.status_code < 400:
            return answer.json()
        raise _error(answer)

    def _unreachable(self, error: Exception) -> Unreachable:
        return Unreachable(
            f"nothing answers at {self.url} ({type(error).__name__}): is the service up, and is "
            "REARVIEW_PORT or REARVIEW_URL right?"
        )

    def send(self, method: str, path: str, file: IO[bytes]) -> Any:
        """The answer to a streamed body; it may take as long as it takes. Raises as `call` does."""

        def chunks() -> Iterator[bytes]:
            while chunk := file.read(CHUNK):
                yield chunk

        return self.call(method, path, content=chunks(), timeout=None)

    def lines(self, method: str, path: str, body: Any) -> Iterator[bytes]:
        """A streamed answer, in pieces. Raises as `call` does."""
        try:
            with self._http.stream(method, path, json=body, timeout=None) as answer:
                if answer.status_code >= 400:
                    answer.read()
                    raise _error(answer)
                yield from answer.iter_bytes()
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    def close(self) -> None:
        self._http.close()


def _error(answer: httpx.Response) -> errors.RearviewError:
    try:
        body = answer.json()
        fields = [errors.FieldError(**e) for e in body.get("errors", [])]
        detail = str(body["detail"])
    except (ValueError, KeyError, TypeError):
        detail, fields = f"HTTP {answer.status_code}", []
    kind = _BY_STATUS.get(answer.status_code, errors.RearviewError)
    return kind(detail, fields)
