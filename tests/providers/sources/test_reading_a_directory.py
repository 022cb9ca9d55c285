"""All files of a directory are one wish, or none."""

import os
from pathlib import Path

import pytest

from providers.registries.labels import RESOURCE
from providers.sources.manifests import InvalidManifest, read_manifests
from tests.providers.sources.manifests_by_hand import GOOD, SERVICE, address, make_manifest


def write(directory: Path, **files: str) -> Path:
    """Files named by keyword: `deep__www_yaml` is deep/www.yaml."""
    for keyword, text in files.items():
        stem, _, suffix = keyword.replace("__", "/").rpartition("_")
        path = directory / f"{stem}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def refuse(directory: Path, **limits: int) -> InvalidManifest:
    with pytest.raises(InvalidManifest) as caught:
        read_manifests(directory, **limits)
    return caught.value


def test_files_at_every_depth_are_read_in_order_of_their_names(tmp_path: Path) -> None:
    write(
        tmp_path,
        b_yml=make_manifest("b", address("b.example.org")),
        a__deep__c_yaml=make_manifest("c", address("c.example.org"), namespace="deep"),
        z_json='{"apiVersion": "v1", "kind": "List", "items": []}',
        www_yaml=f"{GOOD}---\n{SERVICE}",
    )

    reading = read_manifests(tmp_path)

    assert [each.dns_name for each in reading.endpoints] == [
        "c.example.org",
        "b.example.org",
        "www.example.org",
    ]
    assert reading.endpoints[0].labels[RESOURCE] == "crd/deep/c"
    assert (reading.files, reading.documents) == (4, 5)
    assert reading.ignored == ("Service www (www.yaml, document 2)",)


def test_hidden_files_and_other_suffixes_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in (".www.yaml", ".git/www.yaml", "README.md", "www.yaml~", "www.yaml.bak"):
        (tmp_path / name).write_text("{{ no manifest")
    write(tmp_path, www_yaml=GOOD)

    reading = read_manifests(tmp_path)

    assert (reading.files, len(reading.endpoints)) == (1, 1)


def test_one_bad_file_refuses_them_all(tmp_path: Path) -> None:
    write(tmp_path, a_yaml=GOOD, b__api_yaml=make_manifest("api", "dnsName: api.example.org"))

    error = refuse(tmp_path)

    assert str(error).startswith("b/api.yaml, document 1, spec.endpoints[0].recordType: ")


@pytest.mark.parametrize("spelling", ["www.example.org", "WWW.example.org."])
def test_two_places_that_want_one_record_set_are_both_named(tmp_path: Path, spelling: str) -> None:
    write(
        tmp_path,
        a_yaml=f"---\n{make_manifest('www', address('www.example.org'))}",
        b_yaml=make_manifest("other", address("b.example.org"), address(spelling, "192.0.2.9")),
    )

    error = refuse(tmp_path)

    assert str(error) == (
        "b.yaml, document 1, spec.endpoints[1]: www.example.org A is declared a second time; "
        "a.yaml, document 1, spec.endpoints[0] declares it already. Keep one of them."
    )


def test_set_identifiers_and_types_tell_record_sets_apart(tmp_path: Path) -> None:
    same = address("www.example.org")
    other = "dnsName: www.example.org, recordType: AAAA, targets: ['2001:db8::1']"
    write(
        tmp_path,
        a_yaml=make_manifest("www", f"{same}, setIdentifier: eu", f"{same}, setIdentifier: us", other),
    )

    assert len(read_manifests(tmp_path).endpoints) == 3


def test_a_directory_without_dns_endpoints_is_not_the_wish_to_delete_all(tmp_path: Path) -> None:
    empty = refuse(tmp_path)
    write(tmp_path, service_yaml=SERVICE)

    other = refuse(tmp_path)

    assert "holds no DNSEndpoint" in empty.reason
    assert other.reason == empty.reason


def test_nothing_is_wanted_where_a_dns_endpoint_says_so(tmp_path: Path) -> None:
    write(tmp_path, none_yaml=make_manifest("none"))

    reading = read_manifests(tmp_path)

    assert (reading.endpoints, reading.documents) == ((), 1)


def test_a_mounted_config_map_is_read_through_its_links(tmp_path: Path) -> None:
    write(tmp_path / "..2026", www_yaml=GOOD)
    (tmp_path / "..data").symlink_to("..2026")
    (tmp_path / "www.yaml").symlink_to("..data/www.yaml")

    reading = read_manifests(tmp_path)

    assert (reading.files, len(reading.endpoints)) == (1, 1)


def test_a_directory_may_itself_be_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real", www_yaml=GOOD)
    (tmp_path / "link").symlink_to("real")

    assert len(read_manifests(tmp_path / "link").endpoints) == 1


def test_links_that_lead_out_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "other", www_yaml=GOOD)
    directory = write(tmp_path / "here", api_yaml=make_manifest("api", address("api.example.org")))
    (directory / "www.yaml").symlink_to("../other/www.yaml")

    error = refuse(directory)

    assert (error.file, error.document) == ("www.yaml", 0)
    assert str(error).startswith("www.yaml: it is a link")
    assert "leads out of the directory" in error.reason


def test_links_to_folders_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "other", www_yaml=GOOD)
    directory = write(tmp_path / "here", api_yaml=make_manifest("api", address("api.example.org")))
    (directory / "more").symlink_to("../other")

    assert "a link to a folder" in refuse(directory).reason


@pytest.mark.parametrize("target", ["www.yaml", "gone.yaml"])
def test_links_that_lead_nowhere_are_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "www.yaml").symlink_to(target)

    assert "cannot be read" in refuse(tmp_path).reason


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "www.yaml")

    assert "it is not a file" in refuse(tmp_path).reason


@pytest.mark.parametrize("name", ["missing", "www.yaml", "nul\0"])
def test_what_is_no_directory_is_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path, www_yaml=GOOD)

    error = refuse(tmp_path / name)

    assert "cannot be read" in error.reason
    assert str(error).isprintable()


def test_a_file_name_that_is_no_text_is_shown_safely(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"w\xff\n.yaml")).write_text("a: 1")

    error = refuse(tmp_path)

    assert str(error).startswith("w\\udcff\\u000a.yaml, document 1, apiVersion: ")


def test_all_files_together_stay_within_the_bytes_allowed(tmp_path: Path) -> None:
    write(tmp_path, a_yaml=GOOD, b_yaml=SERVICE)
    both = len(GOOD) + len(SERVICE)

    error = refuse(tmp_path, max_bytes=both - 1)

    assert error.file == "b.yaml"
    assert f"exceed {both - 1} bytes" in error.reason
    assert read_manifests(tmp_path, max_bytes=both).files == 2


def test_more_endpoints_than_allowed_are_refused(tmp_path: Path) -> None:
    write(tmp_path, a_yaml=make_manifest("a", *(address(f"n{number}.example.org") for number in range(3))))

    error = refuse(tmp_path, max_endpoints=2)

    assert error.path == "spec.endpoints[2]"
    assert "more than 2 endpoints" in error.reason
    assert len(read_manifests(tmp_path, max_endpoints=3).endpoints) == 3
