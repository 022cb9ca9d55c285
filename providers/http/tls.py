"""The TLS settings of one provider: whom we trust, and the certificate we show."""

import ssl
import tempfile
from pathlib import Path

from requests.utils import DEFAULT_CA_BUNDLE_PATH

from providers.http.credentials import Credentials
from providers.http.errors import InvalidCredentials
from providers.http.exchange import WatchedTlsSocket


def build_tls_context(credentials: Credentials) -> ssl.SSLContext:
    """Return a context that verifies the certificate and the name, always; there is no way to turn it off.

    Raises InvalidCredentials when a certificate or key cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sslsocket_class = WatchedTlsSocket
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if credentials.ca_pem:
        _trust_only(context, credentials.ca_pem)
    else:
        context.load_verify_locations(cafile=DEFAULT_CA_BUNDLE_PATH)
    if credentials.client_certificate_pem:
        _load_client_certificate(context, credentials)
    return context


def _trust_only(context: ssl.SSLContext, ca_pem: str) -> None:
    try:
        context.load_verify_locations(cadata=ca_pem)
    except (ssl.SSLError, ValueError, TypeError) as exc:
        raise InvalidCredentials(
            "The CA certificate could not be read, so the provider was not contacted.",
            hint="Paste one or more certificates in PEM form, each with its BEGIN and END line.",
        ) from exc


def _load_client_certificate(context: ssl.SSLContext, credentials: Credentials) -> None:
    # OpenSSL's loader takes files only. The folder is 0700, the file 0600, and both are gone
    # before the first connection is made.
    with tempfile.TemporaryDirectory(prefix="dnsadmin-") as folder:
        pem = Path(folder) / "client.pem"
        pem.touch(mode=0o600)
        pem.write_text(f"{credentials.client_key_pem}\n{credentials.client_certificate_pem}\n")
        try:
            # Without a password given, OpenSSL would ask for one on the terminal and wait for ever.
            context.load_cert_chain(pem, password="")
        except (ssl.SSLError, ValueError, OSError):
            # Nothing of the cause is kept: it could quote the key.
            raise InvalidCredentials(
                "The client certificate or its key could not be read, so the provider was not contacted.",
                hint="Give both in PEM form, the key unencrypted and belonging to the certificate.",
            ) from None
