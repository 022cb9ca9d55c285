"""The client of one provider, with its secrets, its limits and the deployment's rules of where to go."""

import ipaddress
from dataclasses import replace

from django.conf import settings

from providers.client.protocol_clients import PluginClient, WebhookClient
from providers.client.provider_client import ProviderClient
from providers.conformance.subject import Subject
from providers.http.address_policy import AddressPolicy, PolicySettings
from providers.http.bounded_http import Limits
from providers.http.credentials import BasicLogin, BearerLogin, Credentials, Login
from providers.stores.kubernetes.client import KubernetesClient
from registry_app.mirror.secret_reference import fetch_secret_value
from registry_app.models import Cluster, Provider

_SETTINGS = PolicySettings(
    schemes="DNSADMIN_PROVIDER_SCHEMES",
    hosts="DNSADMIN_PROVIDER_HOSTS",
    networks="DNSADMIN_ALLOWED_NETWORKS",
    loopback="DNSADMIN_ALLOW_LOOPBACK=1",
)


def build_client(provider: Provider, *, seconds: float | None = None) -> ProviderClient:
    """A client for one sync or transfer, in the protocol the provider speaks.

    With `seconds` a call takes no longer, even if the provider's deadline is later. Raises SecretUnavailable
    or a ProviderError; sends nothing.
    """
    limits = build_limits(provider)
    if seconds is not None:
        limits = replace(limits, seconds=min(limits.seconds, seconds))
    protocols: dict[str, type[WebhookClient] | type[PluginClient]] = {
        Provider.Protocol.WEBHOOK: WebhookClient,
        Provider.Protocol.PLUGIN: PluginClient,
    }
    return protocols[provider.protocol](
        _build_url(provider),
        credentials=_build_credentials(provider),
        policy=build_address_policy(),
        limits=limits,
    )


def build_subject(provider: Provider) -> Subject:
    """A provider to be asked whether it conforms. Raises as `build_client`; sends nothing."""
    return Subject(
        _build_url(provider),
        protocol=provider.protocol,
        credentials=_build_credentials(provider),
        policy=build_address_policy(),
        limits=build_limits(provider),
        capitalized_changes=provider.capitalized_changes,
    )


def build_kubernetes_client(cluster: Cluster, limits: Limits) -> KubernetesClient:
    """A client of a cluster's Kubernetes API. Raises SecretUnavailable or a ProviderError; sends nothing."""
    token = fetch_secret_value(cluster.token)
    credentials = Credentials(
        login=BearerLogin(token) if token else None,
        ca_pem=cluster.ca_certificate,
        client_certificate_pem=cluster.client_certificate,
        client_key_pem=fetch_secret_value(cluster.client_key),
    )
    return KubernetesClient(cluster.api_url, credentials, build_address_policy(), limits)


def build_address_policy() -> AddressPolicy:
    """Where this deployment lets us go."""
    hosts = settings.DNSADMIN_ALLOWED_HOSTS_FOR_PROVIDERS
    networks = settings.DNSADMIN_ALLOWED_NETWORKS
    return AddressPolicy(
        schemes=frozenset(settings.DNSADMIN_PROVIDER_SCHEMES),
        hosts=frozenset(hosts) if hosts else None,
        networks=tuple(ipaddress.ip_network(text) for text in networks) if networks else None,
        allow_loopback=settings.DNSADMIN_ALLOW_LOOPBACK,
        settings=_SETTINGS,
    )


def build_limits(provider: Provider) -> Limits:
    """How long and how large an answer for this provider may be, its registry stores' included."""
    return Limits(
        seconds=float(provider.deadline_seconds),
        max_body_bytes=provider.max_body_bytes,
        max_items=provider.max_items,
    )


def _build_url(provider: Provider) -> str:
    query = fetch_secret_value(provider.url_query)
    return f"{provider.url}?{query}" if query else provider.url


def _build_credentials(provider: Provider) -> Credentials:
    return Credentials(
        login=_build_login(provider),
        ca_pem=provider.ca_certificate,
        client_certificate_pem=provider.client_certificate,
        client_key_pem=fetch_secret_value(provider.client_key),
    )


def _build_login(provider: Provider) -> Login | None:
    if provider.authentication == Provider.Authentication.BASIC:
        return BasicLogin(provider.username, fetch_secret_value(provider.secret))
    if provider.authentication == Provider.Authentication.BEARER:
        return BearerLogin(fetch_secret_value(provider.secret))
    return None
