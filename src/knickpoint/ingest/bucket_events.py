"""Read the events by which buckets announce new files, and import those files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs, unquote_plus, urlsplit

from knickpoint.ingest.file_sources import may_hold_results, open_file_source, retrieve_file
from knickpoint.ingest.held_files import quarantine_file
from knickpoint.ingest.import_summary import FileSummary, ImportState, ImportSummary, unreadable_file
from knickpoint.ingest.pipeline import ImportPipeline
from knickpoint.ingest.results_file import digest_bytes
from knickpoint.ingest.settings import Destination, SourceSettings
from knickpoint.ingest.stages.read import Reader, defects_refuse, read_results
from knickpoint.model.errors import HistoryError, InputError, ServiceError
from knickpoint.model.report import Problem
from knickpoint.outgoing import OutgoingRule, fetch

# Confirm the subscription of an SNS topic: before SNS delivers over HTTP, it asks for a confirmation.


_HOST: Final = re.compile(r"sns\.(?P<region>[a-z0-9-]{1,40})\.amazonaws\.com(?:\.cn)?")
_TOPIC: Final = re.compile(
    r"arn:aws[a-z-]*:sns:(?P<region>[a-z0-9-]{1,40}):[0-9]{12}:[\w-]{1,256}(?:\.fifo)?", re.ASCII
)
_SECONDS: Final = 10.0
_LARGEST_ANSWER: Final = 1 << 16


def confirm_subscription(event: Mapping[str, Any], rule: OutgoingRule) -> str | None:
    """Confirm the subscription that a message of SNS is about; return a line for people, None for other messages.

    Raises:
        InputError: the address that confirms it is not one of SNS, or ``rule`` does not allow its host; no sender may
            direct requests to other servers.
        ServiceError: SNS does not answer; it sends the message again.
    """
    kind = event.get("Type")
    if kind == "UnsubscribeConfirmation":
        return f"the subscription of {event.get('TopicArn')} has ended"
    if kind != "SubscriptionConfirmation":
        return None
    request_confirmation(confirmation_address(event), rule)
    return f"the subscription of {event['TopicArn']} is confirmed"


def confirmation_address(event: Mapping[str, Any]) -> str:
    """Return the address that confirms a subscription.

    It has to be ``https`` at SNS in the region of the topic, without a user or another port, and do nothing but confirm
    that topic.

    Raises:
        InputError: it is anything else.
    """
    address, topic = event.get("SubscribeURL"), event.get("TopicArn")
    named = _TOPIC.fullmatch(topic) if isinstance(topic, str) else None
    if named is None or not isinstance(address, str) or not address.isascii() or not address.isprintable():
        raise _refused(address, "the message names no topic of SNS, or no address that confirms it")
    try:
        parts = urlsplit(address)
        asked = parse_qs(parts.query, strict_parsing=True)
        host = _HOST.fullmatch(parts.netloc)
    except ValueError as error:
        raise _refused(address, f"the address cannot be read ({error})") from error
    if parts.scheme != "https" or host is None or host["region"] != named["region"] or parts.path not in {"", "/"}:
        raise _refused(address, "the address is not one of SNS in the region of the topic")
    if asked.get("Action") != ["ConfirmSubscription"] or asked.get("TopicArn") != [topic]:
        raise _refused(address, "the address does something else than to confirm the topic")
    return address


def _refused(address: object, why: str) -> InputError:
    return InputError(
        f"this subscription is not confirmed: {why}",
        where=str(address).partition("?")[0][:200],
        remedy="Confirm it in the console of SNS, if it is yours.",
    )


def request_confirmation(address: str, rule: OutgoingRule) -> None:
    """Request ``address`` without following redirects. Raises ``ServiceError``, and ``AddressError`` by ``rule``."""
    try:
        answer = fetch(address, rule, largest=_LARGEST_ANSWER, seconds=_SECONDS, redirects=0)
    except ServiceError as error:
        raise _unconfirmed(error.message, error.where) from error
    if not 200 <= answer.status < 300:
        raise _unconfirmed(f"it answers with status {answer.status}", address.partition("?")[0])


def _unconfirmed(reason: str, where: str) -> ServiceError:
    return ServiceError(
        f"SNS does not confirm the subscription: {reason}",
        where=where,
        remedy="SNS sends the message again; let this server reach it over HTTPS.",
    )


BUCKET_EVENT: Final = "announcement"
"""The option that marks an event in quarantine; what has no such option is a results file.

Stores have this spelling.
"""


def import_bucket_event(destination: Destination, body: bytes, *, reader: Reader = read_results) -> ImportSummary:
    """Import the files that the event of a bucket announces; a second delivery changes nothing.

    Known are the events of S3 and compatible stores, those of Google Cloud Storage (Pub/Sub push, or CloudEvents), and
    ``{"url": "…"}``. Only files of configured sources are imported, each by itself: when this raises because of some of
    them, the others are in. The subscription of an SNS topic is confirmed.

    Raises:
        InputError: the event cannot be read, or announces a file of no source.
        ServiceError: a file cannot be fetched, or a repository cannot be read; deliver the event again.
    """
    event = _parse(body)
    confirmation = confirm_subscription(event, destination.outgoing)
    if confirmation is not None:
        return ImportSummary(notes=(confirmation,))
    summaries: list[FileSummary | None] = []
    failures: list[InputError | ServiceError] = []
    pipeline = ImportPipeline(destination, reader=reader)
    for url in _urls(event):
        try:
            settings, name = _source_of(destination, url)
            if may_hold_results(name, settings.pattern):
                summaries.append(_import(pipeline, settings, name))
        except (InputError, ServiceError) as error:
            failures.append(error)
        except HistoryError as error:
            failures.append(ServiceError(error.message, where=error.where, remedy=error.remedy))
    if failures:
        # One that may pass comes first, so that the sender delivers the event again.
        raise min(failures, key=lambda error: isinstance(error, InputError))
    return ImportSummary.of(summaries, pipeline.commit_sources.notes())


def quarantine_bucket_event(destination: Destination, body: bytes, source: str, problem: Problem) -> FileSummary:
    """Put an event into quarantine; to try it again is to call :func:`import_bucket_event` again."""
    digest = digest_bytes(body, {})
    quarantine_file(destination, source, digest, body, [problem], options={BUCKET_EVENT: True})
    return FileSummary(source, ImportState.REFUSED, problems=(problem,))


def bucket_event_urls(body: bytes) -> list[str]:
    """Return the URLs of the files that an event announces; events about other things announce none.

    Raises:
        InputError: the body is not an event of a known kind.
    """
    return _urls(_parse(body))


def _import(pipeline: ImportPipeline, settings: SourceSettings, name: str) -> FileSummary | None:
    """Import one file of a source; None where it is gone again, or where no format claims it."""
    source = open_file_source(settings, pipeline.destination.directory)
    try:
        with defects_refuse(source.address(name)):
            file = retrieve_file(source, name, settings, megabytes=pipeline.destination.ingest.largest_megabytes)
    except InputError as error:
        return unreadable_file(source.address(name), error)
    return pipeline.import_file(file) if file is not None else None


def _source_of(destination: Destination, url: str) -> tuple[SourceSettings, str]:
    """Return the source that a URL belongs to, and the name of the file within it."""
    plain = url.replace("gcs://", "gs://")
    for settings in destination.ingest.sources.values():
        root = settings.location.replace("gcs://", "gs://").rstrip("/") + "/"
        if "://" in root and plain.startswith(root) and ".." not in plain.split("/"):
            return settings, plain.removeprefix(root)
    raise InputError(
        "the file belongs to no source of this instance",
        where=url,
        remedy="Add its bucket to [ingest.sources] in knickpoint.toml.",
    )


def _parse(body: bytes) -> Mapping[str, Any]:
    try:
        event = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"the event is not JSON: {error}", remedy="Send the notification as its bucket made it."
        ) from error
    if not isinstance(event, dict):
        raise _unknown_event()
    return event


def _urls(event: Mapping[str, Any], *, wrapped: bool = False) -> list[str]:
    """Return the URLs that an event announces; a message of SNS wraps the event of S3."""
    if event.get("Event") == "s3:TestEvent":
        return []
    if isinstance(event.get("Message"), str) and not wrapped:
        return _urls(_parse(event["Message"].encode(errors="replace")), wrapped=True)
    for read in (_from_s3, _from_google, _plain):
        urls = read(event)
        if urls is not None:
            return urls
    raise _unknown_event()


def _unknown_event() -> InputError:
    return InputError(
        "this is not an event of a known kind",
        remedy='Send notifications of S3 or Google Cloud Storage, or {"url": "…"}.',
    )


def _from_s3(event: Mapping[str, Any]) -> list[str] | None:
    records = event.get("Records")
    if not isinstance(records, list):
        return None
    try:
        return [
            f"s3://{record['s3']['bucket']['name']}/{unquote_plus(record['s3']['object']['key'])}"
            for record in records
            if "ObjectCreated" in str(record.get("eventName", ""))
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"a record of the event lacks {error}", remedy="Send it as the bucket made it.") from error


def _from_google(event: Mapping[str, Any]) -> list[str] | None:
    message = event.get("message")
    facts: Any = message.get("attributes") if isinstance(message, dict) else event.get("data")
    if isinstance(facts, dict) and {"bucketId", "objectId"} <= facts.keys():
        arrived = facts.get("eventType") == "OBJECT_FINALIZE"
        return [f"gs://{facts['bucketId']}/{facts['objectId']}"] if arrived else []
    if isinstance(facts, dict) and {"bucket", "name"} <= facts.keys():
        arrived = str(event.get("type", "")).endswith("object.v1.finalized")
        return [f"gs://{facts['bucket']}/{facts['name']}"] if arrived else []
    return None


def _plain(event: Mapping[str, Any]) -> list[str] | None:
    url = event.get("url")
    return [url] if isinstance(url, str) else None
