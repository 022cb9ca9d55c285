"""Answers that are not what DynamoDB answers: none is ever an empty table, or waited for without end."""

import itertools

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.http.bounded_http import Limits
from providers.http.errors import (
    AnswerTooLarge,
    CompressedAnswer,
    DeadlineExceeded,
    MalformedAnswer,
    NotAProvider,
    ProviderError,
)
from providers.servers.wsgi_application import Answer
from tests.depth import examples
from tests.faults.fault import Fault, FaultPlan
from tests.faults.framing_faults import headers_only, never_ends, slow_drip
from tests.faults.read_faults import gzip_bomb
from tests.providers.stores.dynamodb.rows import HASTY, PATIENT, make_row, make_rows, make_store
from tests.servers.exchange import Exchange
from tests.strict_dynamodb import StrictDynamoDb, body, strict_dynamodb

pytestmark = pytest.mark.deep

SCANS = "POST /Scan"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"Items":null,"Count":0}',
        b'{"Items":{},"Count":0}',
        b'{"Items":[{"k":{"S":"www.example.org#A#"}}',
        b'{"Items":[],"Count":0}{}',
        b'\xef\xbb\xbf{"Items":[]}',
        b'{"Items":[NaN]}',
        b'{"Items":[{"k":{"S":"www.example.org#A#"},"o":{"N":' + b"9" * 5000 + b"}}]}",
        b'{"Items":[],"LastEvaluatedKey":5}',
        b'{"Items":[],"LastEvaluatedKey":{"k":"www"}}',
        b'{"Items":[],"Count":"0"}',
        b'{"Items":' + b"[" * 100_000,
        b'{"Items":[' + b'{"l":' * 100_000 + b"1" + b"}" * 100_000 + b"]}",
        b"<html>Please log in</html>",
    ],
)
def test_an_answer_that_is_no_list_of_items_is_not_used(service: StrictDynamoDb, content: bytes) -> None:
    service.faults.plan(SCANS, body(content))

    with pytest.raises(NotAProvider, match=r"responds, but not as DynamoDB does\. Nothing of it was used"):
        make_store(service.url).fetch_claims()


@pytest.mark.parametrize(
    "content",
    [
        b'{"Items":[],"Count":3}',
        b'{"Items":[],"LastEvaluatedKey":{"k":{"N":"1"}}}',
        b'{"Items":[],"LastEvaluatedKey":{"k":{"S":"a"},"r":{"S":"b"}}}',
        b'{"Items":[{"o":{"S":"blue-cluster"}}]}',
        b'{"Items":[null]}',
        b'{"Items":[{"k":{"S":"a#A#"}},{"k":{"S":"a#A#"}}]}',
    ],
)
def test_a_list_that_cannot_be_this_table_is_not_used(service: StrictDynamoDb, content: bytes) -> None:
    service.faults.plan(SCANS, body(content))

    with pytest.raises(ProviderError):
        make_store(service.url).fetch_claims()


def test_odd_items_have_a_problem_and_the_others_live(service: StrictDynamoDb) -> None:
    odd: list[object] = [
        {"k": {"S": "no key"}},
        {"k": {"S": "a.example.org#A#"}, "o": 5, "l": [[]]},
        {"k": {"S": "b.example.org#A#"}, "o": {"S": "blue-cluster"}, "l": {"M": {"resource": {"M": {}}}}},
    ]
    service.faults.plan(SCANS, body(msgspec.json.encode({"Items": [*odd, make_row()]})))

    claims = make_store(service.url).fetch_claims()

    assert [bool(claim.problem) for claim in claims] == [True, True, True, False]


@pytest.mark.random
def test_any_bytes_are_an_error_or_claims(moto_url: str) -> None:
    json = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=10),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["k", "o", "l", "S", "M", "N", "x"]), inner, max_size=3)
        ),
        max_leaves=12,
    )
    pages = st.fixed_dictionaries(
        {"Items": st.lists(json, max_size=3) | json}, optional={"Count": json, "LastEvaluatedKey": json}
    )
    with strict_dynamodb(moto_url) as service:
        service.create_table()

        @settings(deadline=None, max_examples=examples(150))
        @given(content=st.binary(max_size=60) | pages.map(msgspec.json.encode))
        def read(content: bytes) -> None:
            service.faults.clear()
            service.faults.plan(SCANS, body(content))
            try:
                claims = make_store(service.url).fetch_claims()
            except ProviderError:
                return
            assert all(claim.text.startswith("heritage=") for claim in claims)

        read()


def test_a_page_that_is_larger_than_allowed_is_not_read(service: StrictDynamoDb) -> None:
    service.faults.plan(SCANS, body(b'{"Items":[' + b" " * 17 * 2**20 + b"]}"))
    service.faults.plan(SCANS, never_ends())

    for _ in range(2):
        with pytest.raises(AnswerTooLarge):
            make_store(service.url).fetch_claims()


def test_a_table_that_is_larger_than_allowed_is_not_used(service: StrictDynamoDb) -> None:
    service.put(*make_rows(200))
    service.page_items = 50
    size = sum(len(msgspec.json.encode(item)) for item in service.items().values())

    with pytest.raises(AnswerTooLarge, match="holds more than is allowed here") as caught:
        make_store(service.url, limits=Limits(seconds=20, max_body_bytes=size // 2)).fetch_claims()
    with pytest.raises(AnswerTooLarge):
        make_store(service.url, max_items=200).fetch_claims()

    assert "limits of size and number" in caught.value.hint
    assert len(make_store(service.url, max_items=201).fetch_claims()) == 201


def test_pages_that_go_in_a_circle_are_left(service: StrictDynamoDb) -> None:
    page = b'{"Items":[],"Count":0,"LastEvaluatedKey":{"k":{"S":"a#A#"}}}'
    service.faults.plan(SCANS, body(page), times=None)

    with pytest.raises(MalformedAnswer, match="its pages go in a circle"):
        make_store(service.url).fetch_claims()

    assert len(service.asked("Scan")) == 2


def test_pages_without_end_are_left_at_the_deadline(service: StrictDynamoDb) -> None:
    numbers = itertools.count()

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        page = b'{"Items":[],"Count":0,"LastEvaluatedKey":{"k":{"S":"n%d#A#"}}}' % next(numbers)
        exchange.send(Answer(200, (), page))

    service.faults.plan(SCANS, Fault("pages without end", play), times=None)

    with pytest.raises(ProviderError):
        make_store(service.url, limits=HASTY).fetch_claims()

    assert 2 < len(service.asked("Scan")) < 5_000


@pytest.mark.parametrize("fault", [headers_only(), slow_drip()])
def test_an_answer_that_does_not_come_whole_ends_at_the_deadline(
    service: StrictDynamoDb, fault: Fault
) -> None:
    service.faults.plan(SCANS, fault)

    with pytest.raises(DeadlineExceeded):
        make_store(service.url, limits=HASTY).fetch_claims()


def test_a_compressed_answer_is_not_unpacked(service: StrictDynamoDb) -> None:
    service.faults.plan(SCANS, gzip_bomb(2**20))

    with pytest.raises(CompressedAnswer):
        make_store(service.url, limits=PATIENT).fetch_claims()


def test_an_error_without_end_is_not_read_to_its_end(service: StrictDynamoDb) -> None:
    service.faults.plan(SCANS, body(b"x" * 17 * 2**20, status=400))

    with pytest.raises(AnswerTooLarge):
        make_store(service.url).fetch_claims()


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"null", b'{"__type":5}', b'{"__type":""}', b'{"__type":"#"}', b"[" * 100_000],
)
def test_a_refusal_that_is_not_in_its_words_is_still_told(service: StrictDynamoDb, content: bytes) -> None:
    service.faults.plan(SCANS, body(content, status=400))

    with pytest.raises(ProviderError, match="answered 400") as caught:
        make_store(service.url).fetch_claims()

    assert len(str(caught.value)) < 400
