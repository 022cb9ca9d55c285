import pytest

from providers.wire.media_type import (
    PLUGIN_MEDIA_TYPE,
    WEBHOOK_MEDIA_TYPE,
    is_plugin_media_type,
    is_webhook_media_type,
)


def test_it_knows_each_media_type_by_its_exact_string() -> None:
    assert is_webhook_media_type(WEBHOOK_MEDIA_TYPE)
    assert is_plugin_media_type(PLUGIN_MEDIA_TYPE)
    assert not is_webhook_media_type(PLUGIN_MEDIA_TYPE)
    assert not is_plugin_media_type(WEBHOOK_MEDIA_TYPE)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "application/json",
        "application/external.dns.webhook+json",
        "application/external.dns.webhook+json; version=1",
        "application/external.dns.webhook+json;version=1; charset=utf-8",
        "application/external.dns.webhook+json;version=1 ",
        "Application/external.dns.webhook+json;version=1",
        "application/external.dns.webhook+json;version=2",
    ],
)
def test_it_takes_no_other_spelling_because_external_dns_takes_none(header: str | None) -> None:
    assert not is_webhook_media_type(header)
