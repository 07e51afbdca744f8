"""The limits on what one caller, one connection and one request may take from the server."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LimitSettings"]


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """Bound what one caller, one connection and one request may take; ``[limits]``.

    Attributes:
        requests_per_minute: requests to the API a minute from one caller: by name, or by address where the caller is not
            known. More are refused (429).
        sign_ins_per_minute: attempts to sign in, and requests with credentials that are refused, a minute from one
            address. More are refused (429).
        costly_at_once: requests that read values, traces or findings, and decisions, that are worked on at the same time.
        costly_per_caller: how many of them may be of one caller.
        uploads_at_once: uploads of results that are imported at the same time, each in a process of its own; one place is kept free
            of those of one caller.
        uploads_per_caller: uploads of one caller that are received at the same time.
        uploads_waiting: uploads of all callers that are under way or wait; further ones are refused at once (429), with the time to
            wait.
        upload_megabytes_waiting: the same for their size in megabytes.
        wait_seconds: how long a costly request waits for its turn; after that, it is refused (429 where the caller has
            too many, 503 where all callers together have).
        upload_wait_seconds: how long an upload waits for its turn.
        import_seconds: how long an upload may take to be imported, and a file of a watched source to be read; after that, it is
            stopped, and the file is refused (400).
        request_seconds: how long a costly request may work; after that, it is stopped (503).
        request_values: values (traces × commits) that a request may read at a time, and a formula in total.
        body_bytes: size of the body of a request, uploads excepted (413).
        large_bodies_per_minute: bodies of more than 20,000 bytes a minute from one address, uploads excepted (429).
        address_bytes: size of the address of a request, with its parameters (414).
        header_bytes: size of all headers of a request (431).
        head_seconds: how long a client may take for the address and the headers of a request; then it is disconnected.
        idle_seconds: how long a connection stays open without a request.
        body_seconds: how long a client may pause while it sends a body or takes a response, and the time for the first
            bytes of a body (408).
        body_bytes_per_second: the least rate, on average, at which a body is sent after that time (408).
        connections: connections that are open at the same time; further ones are refused (503).
        connections_per_address: how many of them may be from one address; proxies of `[server]` are excepted.
        shortcuts: short ids that are kept; further ones are refused.
    """

    requests_per_minute: int = 6000
    sign_ins_per_minute: int = 60
    costly_at_once: int = 8
    costly_per_caller: int = 4
    uploads_at_once: int = 3
    uploads_per_caller: int = 8
    uploads_waiting: int = 200
    upload_megabytes_waiting: int = 1000
    wait_seconds: float = 20.0
    upload_wait_seconds: float = 300.0
    import_seconds: float = 300.0
    request_seconds: float = 45.0
    request_values: int = 20_000_000
    body_bytes: int = 4_000_000
    large_bodies_per_minute: int = 30
    address_bytes: int = 64_000
    header_bytes: int = 64_000
    head_seconds: float = 10.0
    idle_seconds: int = 15
    body_seconds: float = 20.0
    body_bytes_per_second: int = 10_000
    connections: int = 900
    connections_per_address: int = 300
    shortcuts: int = 100_000
