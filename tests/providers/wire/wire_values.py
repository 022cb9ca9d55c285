"""Endpoints and change sets of every shape, for property tests; and a few by hand."""

from hypothesis import strategies as st

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
properties = st.builds(ProviderSpecificProperty, name=texts, value=texts)
endpoints = st.builds(
    Endpoint,
    dns_name=texts,
    targets=st.lists(texts, max_size=4).map(tuple),
    record_type=st.sampled_from(("A", "AAAA", "TXT", "CNAME", "", "odd")),
    set_identifier=texts,
    record_ttl=st.integers(-(2**63) + 1, 2**63 - 1),
    labels=st.dictionaries(texts, texts, max_size=4),
    provider_specific=st.lists(properties, max_size=3).map(tuple),
)
endpoint_lists = st.lists(endpoints, max_size=4).map(tuple)
change_sets = st.builds(
    ChangeSet,
    create=endpoint_lists,
    update_old=endpoint_lists,
    update_new=endpoint_lists,
    delete=endpoint_lists,
)

HERITAGE = '"heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=ingress/default/www"'

WWW = Endpoint(dns_name="www.example.org", targets=("192.0.2.1",), record_type="A", record_ttl=300)
WWW_CLAIM = Endpoint(
    dns_name="a-www.example.org",
    targets=(HERITAGE,),
    record_type="TXT",
    labels={"owner": "blue-cluster"},
    provider_specific=(ProviderSpecificProperty("alias", "false"),),
)
