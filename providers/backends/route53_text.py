"""Names and texts as Route 53 writes them, and the hosted zones of AWS services that an alias may point to.
Pure."""

import re
from types import MappingProxyType

from providers.backends.txt_target import format_txt_target, parse_txt_target, split_strings

_OCTAL = re.compile(r"\\([0-3][0-7]{2})")
_ESCAPED = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_STRINGS = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)

# By the end of the name of the target. Source: the list of Elastic Load Balancing endpoints of AWS and of the
# fixed zones of its other services. The property `aws/target-hosted-zone` gives a region that is missing.
_LOAD_BALANCERS = """
us-east-1 Z35SXDOTRQ7X7K Z26RNL4JYFTOTI
us-east-2 Z3AADJGX6KTTL2 ZLMOA37VPKANP
us-west-1 Z368ELLRRE2KJ0 Z24FKFUX50B4VW
us-west-2 Z1H1FL5HABSF5 Z18D5FSROUN65G
ca-central-1 ZQSVJUPU6J1EY Z2EPGBW3API2WT
ca-west-1 Z06473681N0SF6OS049SD Z02754302KBB00W2LKWZ9
ap-east-1 Z3DQVH9N71FHZ0 Z12Y7K3UBGUAD1
ap-south-1 ZP97RAFLXTNZK ZVDDRBQ08TROA
ap-south-2 Z0173938T07WNTVAEPZN Z0711778386UTO08407HT
ap-northeast-1 Z14GRHDCWA56QT Z31USIVHYNEOWT
ap-northeast-2 ZWKZPGTI48KDX ZIBE1TIR4HY56
ap-northeast-3 Z5LXEXXYW11ES Z1GWIQ4HH19I5X
ap-southeast-1 Z1LMS91P8CMLE5 ZKVM4W9LS7TM
ap-southeast-2 Z1GM3OXH4ZPM65 ZCT6FZBF4DROD
ap-southeast-3 Z08888821HLRG5A9ZRTER Z01971771FYVNCOVWJU1G
ap-southeast-4 Z09517862IB2WZLPXG76F Z01156963G8MIIL7X90IV
eu-central-1 Z215JYRZR1TBD5 Z3F0SRJ5LGBH90
eu-central-2 Z06391101F2ZOEP8P5EB3 Z02239872DOALSIDCX66S
eu-west-1 Z32O12XQLNTSW2 Z2IFOLAFXWLO4F
eu-west-2 ZHURV8PSTC4K8 ZD4D7Y8KGAS4G
eu-west-3 Z3Q77PNBQS71R4 Z1CMS0P5QUZ6D5
eu-north-1 Z23TAZ6LKFMNIO Z1UDT6IFJ4EJM
eu-south-1 Z3ULH7SSC9OV64 Z23146JA1KNAFP
eu-south-2 Z0956581394HF5D5LXGAP Z1011216NVTVYADP1SSV
sa-east-1 Z2P70J7HTTTPLU ZTK26PT1VY4CU
me-central-1 Z08230872XQRWHG2XF6I Z00282643NTTLPANJJG2P
me-south-1 ZS929ML54UICD Z3QSRYVP46NYYV
af-south-1 Z268VQBMOI5EKX Z203XCE67M25HM
il-central-1 Z09170902867EHPV2DABU Z0313266YDI6ZRHTGQY4
us-gov-west-1 Z33AYJ8TM3BH4J ZMG1MZ2THAWF1
us-gov-east-1 Z166TLBEWOO7G0 Z1ZSMQQ6Q24QQ8
"""


def _build_zones() -> dict[str, str]:
    zones = {"cloudfront.net": "Z2FDTNDATAQYW2", "awsglobalaccelerator.com": "Z2BJ6XQ5FK7U4H"}
    for line in _LOAD_BALANCERS.split("\n"):
        if line:
            region, application, network = line.split()
            zones[f"{region}.elb.amazonaws.com"] = application
            zones[f"elb.{region}.amazonaws.com"] = network
    return zones


_ZONES = MappingProxyType(_build_zones())


def find_alias_zone(target: str) -> str:
    """The hosted zone an alias to this name must give; empty where the name is of no service known here."""
    rest = target.lower().removesuffix(".")
    while rest:
        if rest in _ZONES:
            return _ZONES[rest]
        rest = rest.partition(".")[2]
    return ""


def parse_name(name: str) -> str:
    """A name without the service's octal escapes (`\\052` for `*`) and without its final dot."""
    return _OCTAL.sub(lambda found: chr(int(found.group(1), 8)), name).removesuffix(".")


def parse_value(record_type: str, value: str) -> str:
    """A value of a record set as a target."""
    if record_type == "TXT":
        return format_txt_target(b"".join(_unescape(text) for text in _STRINGS.findall(value)))
    return value.removesuffix(".") if record_type in ("CNAME", "NS", "PTR", "MX") else value


def format_value(record_type: str, target: str) -> str:
    """A target as a value of a record set. Raises ValueError for a TXT target that cannot be read."""
    if record_type != "TXT":
        return target
    pieces = split_strings(parse_txt_target(target))
    return " ".join(f'"{_escape(piece)}"' for piece in pieces)


def _unescape(text: str) -> bytes:
    def replace(found: re.Match[bytes]) -> bytes:
        escaped = found.group(1)
        return bytes([int(escaped, 8)]) if len(escaped) == 3 else escaped

    return _ESCAPED.sub(replace, text.encode("utf-8"))


def _escape(content: bytes) -> str:
    return "".join(
        f"\\{chr(byte)}" if byte in b'"\\' else chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"
        for byte in content
    )
