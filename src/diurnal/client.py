"""Client: asks a diurnal service, and sends it readings. Needs the extra `web` (httpx), when it is first used.

    from diurnal.client import Client

    with Client("https://reports.example.org", token="dn_ingest_...") as service:
        service.send(panel)
        for row in service.reports("3f2a9c1b", start="2022-08-01"):
            print(row["time"], row["value"])

What fails because the service cannot be reached, says "not now" (429, 503), or is away behind a proxy (502, 504) is
tried again, later and later. A batch goes by a key, drawn at random, so that one that was sent twice, because no
answer came to the first, is taken once.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from diurnal.errors import InputError, ServiceError
from diurnal.readings.panel import Panel

if TYPE_CHECKING:
    import httpx
    import pyarrow as pa

ARROW = "application/vnd.apache.arrow.stream"

AGAIN = (429, 502, 503, 504)
"""Answers that mean "not now": of the service, or of a proxy before it while the service begins."""

LONGEST = 30.0
"""How many seconds are waited between two tries, at most, unless the service says how many."""


class Client:
    """A service, by its address."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        patience: float = 60.0,
        timeout: float = 60.0,
        wait: Callable[[float], None] = time.sleep,
        **options: Any,
    ) -> None:
        """Nothing is asked yet.

        Args:
            url: Where the service is, such as https://reports.example.org.
            token: What `diurnal token make` has printed, for what not everybody may do.
            patience: For how many seconds it is tried again.
            timeout: How many seconds an answer may take.
            wait: How to wait.
            **options: What `httpx.Client` takes, such as verify="ca.pem".

        Raises:
            InputError: There is no httpx.
        """
        try:
            import httpx
        except ModuleNotFoundError:
            raise InputError("extra-missing", what="The client", module="httpx", extra="web") from None
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._patience, self._wait = patience, wait
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, **options)

    def __repr__(self) -> str:
        return f"Client({str(self._http.base_url)!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def streams(self) -> list[dict[str, Any]]:
        """Every stream there is."""
        found: list[dict[str, Any]] = self._asked("GET", "/v1/streams").json()["streams"]
        return found

    def promise(self, stream: str) -> dict[str, Any]:
        """What a stream promises, whole: neighbours, numbers, assumptions and limits."""
        found: dict[str, Any] = self._asked("GET", f"/v1/streams/{stream}/promise").json()
        return found

    def reports(
        self,
        stream: str,
        *,
        start: int | str | None = None,
        stop: int | str | None = None,
        group: str | None = None,
        page: int = 10_000,
    ) -> Iterator[dict[str, Any]]:
        """The released rows of a stream, page after page.

        Args:
            stream: Its name, or how that begins.
            start: The first step, or a time such as 2022-08-01T00:00.
            stop: The step after the last, or a time.
            group: One group's rows only.
            page: How many rows are asked for at a time.
        """
        asked = {"start": start, "stop": stop, "group": group, "limit": page, "format": "json"}
        query = {name: str(value) for name, value in asked.items() if value is not None}
        while True:
            found = self._asked("GET", f"/v1/streams/{stream}/reports", params=query).json()
            yield from found["rows"]
            if found["next"] is None:
                return
            query["cursor"] = found["next"]

    def send(
        self,
        readings: Any,
        *,
        key: str | None = None,
        stream: str | None = None,
        unit: str | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Send readings, once: what was taken, and what was set aside.

        Args:
            readings: A panel; or any frame with an Arrow stream, with columns household, time and kwh or wh; or
                with a column value, and `unit`.
            key: What the batch goes by, where a program that is begun again may send it again; at random unless
                given. The service keeps it for ever: never make it from the readings.
            stream: The one stream that it is for; all unless given.
            unit: What values are in, Wh or kWh, where the name of their column does not say.
            dry_run: Whether only to be told what would become of it: nothing is written, and the key stays unused.

        Raises:
            ServiceError: The service has refused it, or could not be reached.
        """
        body = _arrow(readings)
        headers = {"Content-Type": ARROW, "Idempotency-Key": key or uuid.uuid4().hex}
        said = {"stream": stream, "unit": unit, "dry_run": "1" if dry_run else None}
        query = {name: value for name, value in said.items() if value is not None}
        if isinstance(readings, Panel):
            query["minutes"] = str(readings.grid.minutes)
        found = self._asked("POST", "/v1/readings", content=body, headers=headers, params=query)
        answer: dict[str, Any] = found.json()
        return answer

    def events(self, stream: str, *, after: str | None = None) -> Iterator[dict[str, Any]]:
        """What a stream releases from now on, for ever: {"id", "event", "rows"}. Cut off, it goes on where it was.

        Args:
            stream: Its name, or how that begins.
            after: The last id that was seen; "0" for all there ever was.
        """
        import httpx

        tries, last = _Tries(self._patience, self._wait), after
        while True:
            try:
                for event in self._listened(stream, last):
                    tries.begin()
                    last = event["id"] or last
                    if event["event"]:
                        yield event
            except (httpx.TransportError, ServiceError) as error:
                if isinstance(error, ServiceError) and error.status not in AGAIN:
                    raise
                tries.again(error, None)
            else:
                tries.again(ServiceError("service-hung-up"), None)

    def _listened(self, stream: str, last: str | None) -> Iterator[dict[str, Any]]:
        headers = {} if last is None else {"Last-Event-ID": last}
        where = f"/v1/streams/{stream}/events"
        with self._http.stream("GET", where, headers=headers) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _refused(answer)
            fields: dict[str, str] = {}
            for line in answer.iter_lines():
                if line:
                    name, _, value = line.partition(":")
                    fields[name] = value.strip()
                    continue
                content = json.loads(fields["data"]) if "data" in fields else {}
                yield {"id": fields.get("id", ""), "event": fields.get("event", ""), **content}
                fields = {}

    def _asked(self, method: str, where: str, **more: Any) -> httpx.Response:
        """An answer, after as many tries as patience allows."""
        import httpx

        tries = _Tries(self._patience, self._wait)
        while True:
            try:
                answer = self._http.request(method, where, **more)
            except httpx.TransportError as error:
                tries.again(error, None)
                continue
            if answer.status_code not in AGAIN:
                break
            tries.again(_refused(answer), answer.headers.get("Retry-After"))
        if answer.status_code >= 400:
            raise _refused(answer)
        return answer


class _Tries:
    """How often something has been tried, and how long is waited before it is tried again."""

    def __init__(self, patience: float, wait: Callable[[float], None]) -> None:
        self._patience, self._wait = patience, wait
        self.begin()

    def begin(self) -> None:
        """Something went well: begin anew."""
        self._count, self._since = 0, time.monotonic()

    def again(self, error: Exception, told: str | None) -> None:
        """Wait before the next try: as long as the service says, or longer each time; not all clients as long.

        Raises:
            ServiceError: It was tried for long enough.
        """
        pause = float(told) if told and told.isdecimal() else min(LONGEST, 0.2 * 2**self._count)
        # Between half of it and all of it, so that a thousand clients do not come back at once.
        pause *= 0.5 + 0.5 * (uuid.uuid4().int % 1000) / 1000 if not told else 1
        if time.monotonic() - self._since + pause > self._patience:
            if isinstance(error, ServiceError):
                raise error
            raise ServiceError("service-unreachable", reason=type(error).__name__) from None
        self._count += 1
        self._wait(pause)


def _refused(answer: httpx.Response) -> ServiceError:
    """What the service said, as an error."""
    try:
        told: Mapping[str, Any] = answer.json()
        # A service of an earlier version says it in a shape of its own.
        old = told if "detail" in told else told["error"]
        words = {"message": old.get("detail", old.get("message")), "hint": old.get("remedy", old.get("hint"))}
        return ServiceError("service-refused", status=answer.status_code, code=old["code"], **words)
    except (ValueError, KeyError, TypeError):
        return ServiceError("service-foreign", status=answer.status_code, code="unknown", answer=answer.status_code)


def _arrow(readings: Any) -> bytes:
    """Readings as bytes of an Arrow stream."""
    import pyarrow as pa

    if not isinstance(readings, Panel) and not hasattr(readings, "__arrow_c_stream__"):
        raise InputError("client-readings-type", given=type(readings).__name__)
    table = (
        _long(readings) if isinstance(readings, Panel) else pa.RecordBatchReader.from_stream(readings).read_all()
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _long(panel: Panel) -> pa.Table:
    """A panel's readings, a row each; times by the homes' wall clock."""
    import pyarrow as pa

    steps, homes = np.nonzero(panel.present)
    times = np.array([panel.grid.wall(step) for step in panel.steps], dtype="datetime64[s]")
    names = pa.DictionaryArray.from_arrays(
        pa.array(homes.astype(np.int32)), pa.array(panel.households, pa.string())
    )
    values = panel.readings[steps, homes]
    return pa.table({"household": names, "time": pa.array(times[steps]), panel.grid.unit.lower(): pa.array(values)})
