"""What providers and clusters say is shown, never obeyed."""

import pytest
from django.urls import reverse

from registry_app.models import RecordEvent, SavedFilter
from tests.factories import make_administrator, make_finding, make_owner, make_record_set
from tests.registry_app.admin.world import (
    address,
    make_claim,
    make_fresh_provider,
    make_hand_over,
    make_transfer,
    read_text,
    sign_in,
)

pytestmark = pytest.mark.django_db

SCRIPT = "<script>alert(1)</script>"
OVERRIDE = "\u202egro.elpmaxe"
LONG_NAME = ".".join(["x" * 62] * 4)


def test_a_hostile_record_set_is_escaped_in_its_list_and_on_its_page() -> None:
    owner = make_owner(f"o{SCRIPT}")
    provider = make_fresh_provider(f"zone {SCRIPT}")
    row = make_record_set(
        provider,
        LONG_NAME,
        record_type="TXT",
        owner=owner,
        targets=[SCRIPT, OVERRIDE, "{{ 7|add:7 }}"],
        resource=SCRIPT,
        set_identifier=f"{SCRIPT}{OVERRIDE}",
        provider_specific=[{"name": SCRIPT, "value": SCRIPT}],
    )
    make_claim(
        row,
        owner,
        txt_name=SCRIPT,
        raw=f'"{SCRIPT}{OVERRIDE}"',
        labels={SCRIPT: SCRIPT},
        set_identifier=SCRIPT,
    )
    RecordEvent.objects.create(
        provider=provider, name=LONG_NAME, record_type="TXT", set_identifier=SCRIPT, kind="changed",
        before={"targets": [SCRIPT]}, after={"targets": [OVERRIDE]}, at=row.changed_at, writer=SCRIPT,
    )  # fmt: skip
    make_finding(
        provider=provider, name=LONG_NAME, record_type="TXT", explanation=SCRIPT, details={"x": SCRIPT}
    )
    client = sign_in(make_administrator())

    pages = [
        read_text(client.get(url))
        for url in (
            address("recordset_changelist"),
            address("recordset_change", row.pk),
            address("owner_changelist"),
            address("owner_change", owner.pk),
            address("provider_change", provider.pk),
            address("finding_changelist"),
            address("transfer_request"),
        )
    ]

    assert all("alert(1)" in page for page in pages)
    assert not [page for page in pages if SCRIPT in page]
    assert not [page for page in pages if "\u202e" in page]
    assert "\\u202e" in pages[1]
    assert LONG_NAME in pages[1]
    assert "{{ 7|add:7 }}" in pages[1]


def test_a_hostile_transfer_is_escaped() -> None:
    blue, green = make_owner(), make_owner("green-cluster")
    transfer = make_transfer(make_fresh_provider(), blue, green, reason=SCRIPT, status_reason=SCRIPT)
    claim = {"dnsName": SCRIPT, "recordType": "TXT", "targets": [f'"{OVERRIDE}"']}
    transfer.items.update(name=SCRIPT, before=[claim], after=[], verdict_reason=SCRIPT, status_reason=SCRIPT)
    client = sign_in(make_administrator())

    page = read_text(client.get(address("transfer_change", transfer.pk)))

    assert SCRIPT not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_hostile_owners_and_people_are_escaped_where_both_sides_consent() -> None:
    provider = make_fresh_provider(approval_policy="both_sides")
    blue, green = make_owner(f"b{SCRIPT}{OVERRIDE}"), make_owner(f"g{SCRIPT}{OVERRIDE}")
    gone = {"consent_side": "giver", "consent_by_name": SCRIPT, "consent_at": provider.accepted_at}
    policy = {"approval_policy": "both_sides"}
    transfers = [make_transfer(provider, blue, green, **policy, **more) for more in ({}, gone)]
    hand_overs = [make_hand_over(provider, blue, green, **policy, **more) for more in ({}, gone)]
    client = sign_in(make_administrator())

    pages = [
        read_text(client.get(address(page, row.pk)))
        for page, rows in (("transfer_change", transfers), ("handover_change", hand_overs))
        for row in rows
    ]

    assert [page.count("<h3>Consent for ") for page in pages] == [2, 2, 2, 2]
    assert all("who consented for" in page for page in pages[1::2])
    assert not [page for page in pages if SCRIPT in page or "\u202e" in page]


def test_a_filter_that_was_typed_comes_back_escaped() -> None:
    client = sign_in(make_administrator())

    page = read_text(
        client.get(address("recordset_changelist"), {"name_prefix": '"><script>alert(1)</script>'})
    )

    assert "&quot;&gt;&lt;script&gt;" in page
    assert "<script>alert(1)" not in page


def test_no_page_carries_an_inline_script_or_handler() -> None:
    blue, green = make_owner(), make_owner("green-cluster")
    transfer = make_transfer(make_fresh_provider(), blue, green)
    client = sign_in(make_administrator())

    response = client.get(address("transfer_change", transfer.pk))
    page = read_text(response)

    assert page.count("<script") == page.count("<script src=") + page.count('<script id="django-admin')
    assert "onclick=" not in page
    assert "'unsafe-inline'" not in response.headers["Content-Security-Policy"].partition("style-src")[0]


def test_hostile_texts_that_are_searched_and_saved_are_escaped() -> None:
    root = make_administrator()
    row = make_record_set(make_fresh_provider(), targets=[SCRIPT], owner=make_owner(f"o{SCRIPT}"))
    saved = SavedFilter.objects.create(
        user=root,
        list_name="record-sets",
        name=f"{SCRIPT}{OVERRIDE}",
        filters={"q": SCRIPT},
        is_pinned=True,
    )
    client = sign_in(root)

    pages = [
        read_text(client.get(url, query))
        for url, query in (
            (reverse("find"), {"q": SCRIPT}),
            (reverse("find"), {"q": f"{SCRIPT}{OVERRIDE}"}),
            (reverse("admin:index"), {}),
            (address("recordset_changelist"), {"q": SCRIPT}),
            (address("savedfilter_changelist"), {}),
            (address("savedfilter_change", saved.pk), {}),
            (address("savedfilter_edit", saved.pk), {}),
        )
    ]

    assert row.name in pages[0]
    assert row.name in pages[3]
    assert all("alert(1)" in page for page in pages)
    assert not [page for page in pages if SCRIPT in page]
    assert not [number for number, page in enumerate(pages) if "\u202e" in page and number not in (1, 6)]
