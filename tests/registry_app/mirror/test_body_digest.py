"""By the digest of a response a sync knows that nothing changed."""

from pytest_django import Settings

from registry_app.mirror.body_digest import compute_body_digest


def test_bodies_that_differ_in_one_byte_or_in_length_have_different_digests() -> None:
    body = b'[{"dnsName":"www.example.org"}]'
    others = [b"", b"\0", body + b"\0", body[:-1], *(_with_other_byte(body, at) for at in range(len(body)))]

    digests = {compute_body_digest(each) for each in (body, *others)}

    assert len(digests) == len({body, *others})
    assert compute_body_digest(bytes(body)) in digests


def test_the_digest_depends_on_the_secret_key(settings: Settings) -> None:
    before = compute_body_digest(b"[]")

    settings.SECRET_KEY = "another-secret-key-for-this-test"

    assert compute_body_digest(b"[]") != before


def _with_other_byte(body: bytes, at: int) -> bytes:
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]
