"""What can be asked without changing anything: negotiation, records, adjusted endpoints, bad input."""

from collections import Counter
from collections.abc import Iterator, Sequence

from providers.conformance.subject import CALL_ERRORS, Area, Observation, Response, Subject, Verdict
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

_NEGOTIATION, _RECORDS, _ADJUSTING, _BAD_INPUT = (
    Area.NEGOTIATION,
    Area.RECORDS,
    Area.ADJUSTING,
    Area.BAD_INPUT,
)


def check_negotiation(subject: Subject) -> Iterator[Observation]:
    """The bare URL: its status, its exact Content-Type, and what else each protocol asks for there."""
    response = subject.call("GET")
    title = "The bare URL responds with success"
    if not response.is_success or (subject.protocol == "plugin" and response.status != 200):
        yield _NEGOTIATION.failed(title, f"It responded with {response.status}.")
        return
    yield _NEGOTIATION.passed(title, f"{response.status} in {response.seconds:.2f} s.")
    yield _check_media_type(subject, response)
    if subject.protocol == "webhook":
        yield from _check_domain_filter(response)
    else:
        verdict = Verdict.PASSED if response.varies_by_type else Verdict.FAILED
        yield _NEGOTIATION.observe(verdict, "Its Vary header names Content-Type")


def _check_media_type(subject: Subject, response: Response) -> Observation:
    title = "Content-Type is the media type, byte for byte"
    if response.content_type == subject.media_type:
        return _NEGOTIATION.passed(title)
    return _NEGOTIATION.failed(
        title,
        f"It is {response.content_type!r}, not {subject.media_type!r}.",
        "ExternalDNS refuses to start with it: no charset, no space may be added.",
    )


def _check_domain_filter(response: Response) -> Iterator[Observation]:
    title = "The body is a domain filter"
    try:
        parsed = parse_domain_filter(response.body)
    except WireError as error:
        yield _NEGOTIATION.failed(title, str(error))
        return
    yield _NEGOTIATION.passed(title, _describe_filter(parsed))
    if parsed.said_filters:
        yield _NEGOTIATION.noted(
            "The filter is spelled as ExternalDNS reads it",
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
        yield _RECORDS.failed("GET /records responds with 200", f"It responded with {response.status}.")
        return
    yield _RECORDS.passed("GET /records responds with 200")
    if response.content_type != subject.media_type:
        detail = f"It is {response.content_type!r}; clients accept it."
        yield _RECORDS.noted("Content-Type is the media type", detail)
    yield _check_size(response)
    yield _check_speed(response)
    try:
        decoded = decode_records(response.body, max_items=subject.limits.max_items)
    except WireError as error:
        yield _RECORDS.failed("The body is one whole array", str(error))
        return
    yield _RECORDS.passed("The body is one whole array", f"{len(decoded.endpoints)} endpoints.")
    yield from _check_contents(decoded)
    yield _compare_readings(decoded.endpoints, subject.fetch_endpoints(), response)


def _check_size(response: Response) -> Observation:
    mebibytes = len(response.body) / (1024 * 1024)
    title = "The response is within ExternalDNS's limit (32 MiB)"
    detail = f"{mebibytes:.1f} MiB."
    if len(response.body) > _MOST_BYTES:
        return _RECORDS.failed(title, detail, "Split it by a domain filter.")
    is_close = len(response.body) * 2 > _MOST_BYTES
    return _RECORDS.observe(Verdict.NOTED if is_close else Verdict.PASSED, title, detail)


def _check_speed(response: Response) -> Observation:
    title = "The response comes within ExternalDNS's deadline (15 s)"
    detail = f"{response.seconds:.2f} s."
    if response.seconds > _MOST_SECONDS:
        return _RECORDS.failed(title, detail, "Raise --webhook-provider-read-timeout.")
    is_close = response.seconds * 2 > _MOST_SECONDS
    return _RECORDS.observe(Verdict.NOTED if is_close else Verdict.PASSED, title, detail)


def _check_contents(decoded: DecodedRecords) -> Iterator[Observation]:
    if decoded.set_aside:
        reasons = "; ".join(f"{each.name or 'no name'}: {each.reason}" for each in decoded.set_aside[:_SHOWN])
        detail = f"{len(decoded.set_aside)} cannot be used. {reasons}."
        yield _RECORDS.noted("Every endpoint can be read", detail)
    else:
        yield _RECORDS.passed("Every endpoint can be read")
    keys = [key for key in map(_key_of, decoded.endpoints) if key is not None]
    twice = [key for key, count in Counter(keys).items() if count > 1]
    if twice:
        detail = f"{len(twice)} are given more than once, such as {twice[0].name} {twice[0].record_type}."
        yield _RECORDS.noted("No identity is given twice", detail)
    else:
        yield _RECORDS.passed("No identity is given twice")
    yield from _describe_writing(decoded.endpoints)


def _describe_writing(endpoints: Sequence[Endpoint]) -> Iterator[Observation]:
    upper = sum(each.dns_name != each.dns_name.lower() for each in endpoints)
    dotted = sum(each.dns_name.endswith(".") for each in endpoints)
    wide = sum(not each.dns_name.isascii() for each in endpoints)
    odd = [f"{upper} with upper case", f"{dotted} with a dot at the end", f"{wide} beyond ASCII"]
    found = [text for text in odd if not text.startswith("0 ")]
    if found:
        yield _RECORDS.noted("Names are in canonical form", f"{', '.join(found)}.")
    texts = [target for each in endpoints if each.record_type.upper() == "TXT" for target in each.targets]
    quoted = sum(text.startswith('"') for text in texts)
    if texts:
        detail = f"{quoted} of {len(texts)} TXT targets are in quotes."
        mixed = 0 < quoted < len(texts)
        verdict = Verdict.NOTED if mixed or not quoted else Verdict.PASSED
        yield _RECORDS.observe(verdict, "TXT targets are in quotes", detail)
    types = Counter(each.record_type.upper() for each in endpoints)
    sets = sum(bool(each.set_identifier) for each in endpoints)
    names = sorted({item.name for each in endpoints for item in each.provider_specific})
    detail = ", ".join(f"{count} {kind or 'without type'}" for kind, count in types.most_common(10))
    detail += f"; {sets} with a set identifier" if sets else ""
    detail += f"; properties {', '.join(names[:10])}" if names else ""
    yield _RECORDS.noted("What it holds", f"{detail or 'nothing'}.")


def _compare_readings(
    first: Sequence[Endpoint], second: Sequence[Endpoint], response: Response
) -> Observation:
    title = "Two readings say the same"
    if list(first) == list(second):
        return _RECORDS.passed(title, f"In the same order; {len(response.body)} bytes.")
    if sorted(map(repr, first)) == sorted(map(repr, second)):
        return _RECORDS.noted(title, "The same endpoints, in another order.")
    detail = "They differ. Somebody may have changed records in between: run it again."
    return _RECORDS.noted(title, detail)


def check_names_are_inside(subject: Subject, domain_filter: DomainFilter) -> Iterator[Observation]:
    """Everything it gives lies within the domain filter it negotiated."""
    title = "All names lie within the domain filter"
    keys = [key for key in map(_key_of, subject.fetch_endpoints()) if key is not None]
    outside = sorted({key.name for key in keys if not domain_filter.matches(key.name)})
    if outside:
        detail = f"{len(outside)} do not, such as {outside[0]}."
        yield _RECORDS.noted(title, detail)
    else:
        yield _RECORDS.passed(title)


def check_adjusting(subject: Subject) -> Iterator[Observation]:
    """AdjustEndpoints: nothing from nothing, the same identities back, and the same again."""
    response = subject.adjust(())
    title = "No endpoints adjust to no endpoints"
    is_empty = response.status == 200 and response.body.strip() in (b"[]", b"null")
    detail = "" if is_empty else f"It responded with {response.status} with {len(response.body)} bytes."
    yield _ADJUSTING.observe(Verdict.PASSED if is_empty else Verdict.FAILED, title, detail)
    sample = subject.fetch_endpoints()[:_SAMPLE]
    if not sample:
        yield _ADJUSTING.skipped("Adjusting is stable", "There is nothing to adjust.")
        return
    once = subject.adjust(sample)
    if once.status != 200:
        yield _ADJUSTING.failed("AdjustEndpoints responds with 200", f"It answered {once.status}.")
        return
    adjusted = decode_endpoints_strict(once.body, max_items=subject.limits.max_items)
    yield _compare_identities(sample, adjusted)
    again = decode_endpoints_strict(subject.adjust(adjusted).body, max_items=subject.limits.max_items)
    is_stable = again == adjusted
    yield _ADJUSTING.observe(
        Verdict.PASSED if is_stable else Verdict.FAILED,
        "Adjusting what was adjusted changes nothing",
        "" if is_stable else "The second response differs: ExternalDNS would update at every loop.",
    )


def _compare_identities(sample: Sequence[Endpoint], adjusted: Sequence[Endpoint]) -> Observation:
    title = "Its own records come back adjusted under the same identities"
    lost = {_key_of(each) for each in sample} - {_key_of(each) for each in adjusted} - {None}
    if not lost:
        return _ADJUSTING.passed(title, f"{len(adjusted)} endpoints.")
    detail = f"{len(lost)} of {len(sample)} are missing from the response."
    return _ADJUSTING.noted(title, detail)


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
        return _BAD_INPUT.passed(title, "It responds like the bare URL.")
    return _judge_refusal(title, response, expected={400, 404})


def _judge_refusal(title: str, response: Response, *, expected: set[int]) -> Observation:
    if response.status in expected:
        return _BAD_INPUT.passed(title, f"{response.status}.")
    if response.is_success:
        return _BAD_INPUT.failed(title, f"It responded with {response.status}, a success status.")
    advice = "ExternalDNS tries 5xx again, loop after loop." if response.status >= 500 else ""
    return _BAD_INPUT.noted(title, f"It responded with {response.status}.", advice)


def _key_of(endpoint: Endpoint) -> EndpointKey | None:
    try:
        return endpoint_key(endpoint)
    except InvalidName:
        return None


def observe(area: Area, asked: Iterator[Observation]) -> Iterator[Observation]:
    """Observations as they come; a call that breaks off ends the area with what happened, nothing else."""
    try:
        yield from asked
    except CALL_ERRORS as error:
        yield area.failed("The provider responds", str(error))
