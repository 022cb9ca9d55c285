"""What can be asked without changing anything: negotiation, records, adjusted endpoints, bad input."""

from collections import Counter
from collections.abc import Iterator, Sequence

from providers.conformance.subject import CALL_ERRORS, Observation, Response, Subject, Verdict
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.domain_filter import DomainFilter, ParsedFilter, parse_domain_filter
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_codec import DecodedRecords, decode_endpoints_strict, decode_records

_SAMPLE = 50
_SHOWN = 3
# ExternalDNS's own bounds: what is beyond them, its client does not read.
_MOST_BYTES = 32 * 1024 * 1024
_MOST_SECONDS = 15.0

_NEGOTIATION, _RECORDS, _ADJUSTING, _BAD_INPUT = "negotiation", "records", "adjustendpoints", "bad input"


def check_negotiation(subject: Subject) -> Iterator[Observation]:
    """The bare URL: its status, its exact Content-Type, and what else each protocol asks for there."""
    response = subject.call("GET")
    title = "The bare URL responds with success"
    if not response.is_success or (subject.protocol == "plugin" and response.status != 200):
        yield Observation(_NEGOTIATION, title, Verdict.FAILED, f"It responded with {response.status}.")
        return
    yield Observation(_NEGOTIATION, title, Verdict.PASSED, f"{response.status} in {response.seconds:.2f} s.")
    yield _check_media_type(subject, response)
    if subject.protocol == "webhook":
        yield from _check_domain_filter(response)
    else:
        verdict = Verdict.PASSED if response.varies_by_type else Verdict.FAILED
        yield Observation(_NEGOTIATION, "Its Vary header names Content-Type", verdict)


def _check_media_type(subject: Subject, response: Response) -> Observation:
    title = "Content-Type is the media type, byte for byte"
    if response.content_type == subject.media_type:
        return Observation(_NEGOTIATION, title, Verdict.PASSED)
    return Observation(
        _NEGOTIATION,
        title,
        Verdict.FAILED,
        f"It is {response.content_type!r}, not {subject.media_type!r}.",
        "ExternalDNS refuses to start with it: no charset, no space may be added.",
    )


def _check_domain_filter(response: Response) -> Iterator[Observation]:
    title = "The body is a domain filter"
    try:
        parsed = parse_domain_filter(response.body)
    except WireError as error:
        yield Observation(_NEGOTIATION, title, Verdict.FAILED, str(error))
        return
    yield Observation(_NEGOTIATION, title, Verdict.PASSED, _describe_filter(parsed))
    if parsed.said_filters:
        yield Observation(
            _NEGOTIATION,
            "The filter is spelled as ExternalDNS reads it",
            Verdict.NOTED,
            "It is named `filters`, which ExternalDNS does not read: for ExternalDNS every name matches.",
            "Spell it `include`.",
        )


def _describe_filter(parsed: ParsedFilter) -> str:
    if parsed.filter.matches_everything:
        return "It matches every name."
    texts = (*parsed.filter.include, *(f"not {name}" for name in parsed.filter.exclude))
    patterns = [text for text in (parsed.filter.regex_include, parsed.filter.regex_exclude) if text]
    return f"{', '.join((*texts[:_SHOWN], *patterns))}."


def check_records(subject: Subject) -> Iterator[Observation]:
    """GET /records, twice: status, shape, size, speed, and how names and texts are written."""
    response = subject.call("GET", "records")
    if response.status != 200:
        yield Observation(
            _RECORDS,
            "GET /records responds with 200",
            Verdict.FAILED,
            f"It responded with {response.status}.",
        )
        return
    yield Observation(_RECORDS, "GET /records responds with 200", Verdict.PASSED)
    if response.content_type != subject.media_type:
        detail = f"It is {response.content_type!r}; clients accept it."
        yield Observation(_RECORDS, "Content-Type is the media type", Verdict.NOTED, detail)
    yield _check_size(response)
    yield _check_speed(response)
    try:
        decoded = decode_records(response.body, max_items=subject.limits.max_items)
    except WireError as error:
        yield Observation(_RECORDS, "The body is one whole array", Verdict.FAILED, str(error))
        return
    yield Observation(
        _RECORDS, "The body is one whole array", Verdict.PASSED, f"{len(decoded.endpoints)} endpoints."
    )
    yield from _check_contents(decoded)
    yield _compare_readings(decoded.endpoints, subject.fetch_endpoints(), response)


def _check_size(response: Response) -> Observation:
    mebibytes = len(response.body) / (1024 * 1024)
    title = "The response is within ExternalDNS's limit (32 MiB)"
    detail = f"{mebibytes:.1f} MiB."
    if len(response.body) > _MOST_BYTES:
        return Observation(_RECORDS, title, Verdict.FAILED, detail, "Split it by a domain filter.")
    is_close = len(response.body) * 2 > _MOST_BYTES
    return Observation(_RECORDS, title, Verdict.NOTED if is_close else Verdict.PASSED, detail)


def _check_speed(response: Response) -> Observation:
    title = "The response comes within ExternalDNS's deadline (15 s)"
    detail = f"{response.seconds:.2f} s."
    if response.seconds > _MOST_SECONDS:
        return Observation(_RECORDS, title, Verdict.FAILED, detail, "Raise --webhook-provider-read-timeout.")
    is_close = response.seconds * 2 > _MOST_SECONDS
    return Observation(_RECORDS, title, Verdict.NOTED if is_close else Verdict.PASSED, detail)


def _check_contents(decoded: DecodedRecords) -> Iterator[Observation]:
    if decoded.set_aside:
        reasons = "; ".join(f"{each.name or 'no name'}: {each.reason}" for each in decoded.set_aside[:_SHOWN])
        detail = f"{len(decoded.set_aside)} cannot be used. {reasons}."
        yield Observation(_RECORDS, "Every endpoint can be read", Verdict.NOTED, detail)
    else:
        yield Observation(_RECORDS, "Every endpoint can be read", Verdict.PASSED)
    keys = [key for key in map(_key_of, decoded.endpoints) if key is not None]
    twice = [key for key, count in Counter(keys).items() if count > 1]
    if twice:
        detail = f"{len(twice)} are given more than once, such as {twice[0].name} {twice[0].record_type}."
        yield Observation(_RECORDS, "No identity is given twice", Verdict.NOTED, detail)
    else:
        yield Observation(_RECORDS, "No identity is given twice", Verdict.PASSED)
    yield from _describe_writing(decoded.endpoints)


def _describe_writing(endpoints: Sequence[Endpoint]) -> Iterator[Observation]:
    upper = sum(each.dns_name != each.dns_name.lower() for each in endpoints)
    dotted = sum(each.dns_name.endswith(".") for each in endpoints)
    wide = sum(not each.dns_name.isascii() for each in endpoints)
    odd = [f"{upper} with upper case", f"{dotted} with a dot at the end", f"{wide} beyond ASCII"]
    found = [text for text in odd if not text.startswith("0 ")]
    if found:
        yield Observation(_RECORDS, "Names are in canonical form", Verdict.NOTED, f"{', '.join(found)}.")
    texts = [target for each in endpoints if each.record_type.upper() == "TXT" for target in each.targets]
    quoted = sum(text.startswith('"') for text in texts)
    if texts:
        detail = f"{quoted} of {len(texts)} TXT targets are in quotes."
        mixed = 0 < quoted < len(texts)
        verdict = Verdict.NOTED if mixed or not quoted else Verdict.PASSED
        yield Observation(_RECORDS, "TXT targets are in quotes", verdict, detail)
    types = Counter(each.record_type.upper() for each in endpoints)
    sets = sum(bool(each.set_identifier) for each in endpoints)
    names = sorted({item.name for each in endpoints for item in each.provider_specific})
    detail = ", ".join(f"{count} {kind or 'without type'}" for kind, count in types.most_common(10))
    detail += f"; {sets} with a set identifier" if sets else ""
    detail += f"; properties {', '.join(names[:10])}" if names else ""
    yield Observation(_RECORDS, "What it holds", Verdict.NOTED, f"{detail or 'nothing'}.")


def _compare_readings(
    first: Sequence[Endpoint], second: Sequence[Endpoint], response: Response
) -> Observation:
    title = "Two readings say the same"
    if list(first) == list(second):
        return Observation(_RECORDS, title, Verdict.PASSED, f"In the same order; {len(response.body)} bytes.")
    if sorted(map(repr, first)) == sorted(map(repr, second)):
        return Observation(_RECORDS, title, Verdict.NOTED, "The same endpoints, in another order.")
    detail = "They differ. Somebody may have changed records in between: run it again."
    return Observation(_RECORDS, title, Verdict.NOTED, detail)


def check_names_are_inside(subject: Subject, domain_filter: DomainFilter) -> Iterator[Observation]:
    """Everything it gives lies within the domain filter it negotiated."""
    title = "All names lie within the domain filter"
    keys = [key for key in map(_key_of, subject.fetch_endpoints()) if key is not None]
    outside = sorted({key.name for key in keys if not domain_filter.matches(key.name)})
    if outside:
        detail = f"{len(outside)} do not, such as {outside[0]}."
        yield Observation(_RECORDS, title, Verdict.NOTED, detail)
    else:
        yield Observation(_RECORDS, title, Verdict.PASSED)


def check_adjusting(subject: Subject) -> Iterator[Observation]:
    """AdjustEndpoints: nothing from nothing, the same identities back, and the same again."""
    response = subject.adjust(())
    title = "No endpoints adjust to no endpoints"
    is_empty = response.status == 200 and response.body.strip() in (b"[]", b"null")
    detail = "" if is_empty else f"It responded with {response.status} with {len(response.body)} bytes."
    yield Observation(_ADJUSTING, title, Verdict.PASSED if is_empty else Verdict.FAILED, detail)
    sample = subject.fetch_endpoints()[:_SAMPLE]
    if not sample:
        yield Observation(_ADJUSTING, "Adjusting is stable", Verdict.SKIPPED, "There is nothing to adjust.")
        return
    once = subject.adjust(sample)
    if once.status != 200:
        yield Observation(
            _ADJUSTING, "AdjustEndpoints responds with 200", Verdict.FAILED, f"It answered {once.status}."
        )
        return
    adjusted = decode_endpoints_strict(once.body, max_items=subject.limits.max_items)
    yield _compare_identities(sample, adjusted)
    again = decode_endpoints_strict(subject.adjust(adjusted).body, max_items=subject.limits.max_items)
    is_stable = again == adjusted
    yield Observation(
        _ADJUSTING,
        "Adjusting what was adjusted changes nothing",
        Verdict.PASSED if is_stable else Verdict.FAILED,
        "" if is_stable else "The second response differs: ExternalDNS would update at every loop.",
    )


def _compare_identities(sample: Sequence[Endpoint], adjusted: Sequence[Endpoint]) -> Observation:
    title = "Its own records come back adjusted under the same identities"
    lost = {_key_of(each) for each in sample} - {_key_of(each) for each in adjusted} - {None}
    if not lost:
        return Observation(_ADJUSTING, title, Verdict.PASSED, f"{len(adjusted)} endpoints.")
    detail = f"{len(lost)} of {len(sample)} are missing from the response."
    return Observation(_ADJUSTING, title, Verdict.NOTED, detail)


_BAD_BODIES = (
    ("An array that does not close is refused with 400", b'[{"dnsName":"www.example.org"'),
    ("What is not JSON is refused with 400", b"dnsName: www.example.org"),
)


def check_bad_input(subject: Subject) -> Iterator[Observation]:
    """Broken requests to the call that changes nothing, and addresses that are none."""
    for title, body in _BAD_BODIES:
        response = subject.call("POST", "adjustendpoints", body=body, headers=subject.content_headers())
        yield _judge_refusal(title, response, expected={400, 422})
    yield _check_unknown_address(subject)
    title = "An unknown method is refused"
    response = subject.call("PUT", "adjustendpoints", body=b"[]", headers=subject.content_headers())
    yield _judge_refusal(title, response, expected={400, 404, 405, 501})


def _check_unknown_address(subject: Subject) -> Observation:
    title = "An unknown address responds with 404, or like the bare URL"
    response = subject.call("GET", "no-such-address")
    if response.status == 200 and response.body == subject.call("GET").body:
        # ExternalDNS's own server does.
        return Observation(_BAD_INPUT, title, Verdict.PASSED, "It responds like the bare URL.")
    return _judge_refusal(title, response, expected={400, 404})


def _judge_refusal(title: str, response: Response, *, expected: set[int]) -> Observation:
    if response.status in expected:
        return Observation(_BAD_INPUT, title, Verdict.PASSED, f"{response.status}.")
    if response.is_success:
        return Observation(
            _BAD_INPUT, title, Verdict.FAILED, f"It responded with {response.status}, a success status."
        )
    advice = "ExternalDNS tries 5xx again, loop after loop." if response.status >= 500 else ""
    return Observation(_BAD_INPUT, title, Verdict.NOTED, f"It responded with {response.status}.", advice)


def _key_of(endpoint: Endpoint) -> EndpointKey | None:
    try:
        return endpoint_key(endpoint)
    except InvalidName:
        return None


def observe(area: str, asked: Iterator[Observation]) -> Iterator[Observation]:
    """Observations as they come; a call that breaks off ends the area with what happened, nothing else."""
    try:
        yield from asked
    except CALL_ERRORS as error:
        yield Observation(area, "The provider responds", Verdict.FAILED, str(error))
