"""Every fault a provider shows, by name, with plain parameters: what a test goes through one by one."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tests.faults import framing_faults, read_faults, write_faults
from tests.faults.fault import Fault
from tests.faults.framing_faults import Framing

# Answers to `GET /records` that a client must refuse, or report as a failure.
REFUSED_READS: Mapping[str, Callable[[], Fault]] = MappingProxyType(
    {
        "not_found": lambda: read_faults.status(404),
        "unauthorized": lambda: read_faults.status(401),
        "failing": lambda: read_faults.status(500),
        "unavailable": lambda: read_faults.status(503),
        "too_many_requests": read_faults.too_many_requests,
        "redirect_same_host": lambda: read_faults.redirect("/elsewhere"),
        "redirect_other_host": lambda: read_faults.redirect("http://192.0.2.1/records"),
        "reset": framing_faults.reset,
        "closed": framing_faults.closed,
        "silence": framing_faults.silence,
        "headers_only": framing_faults.headers_only,
        "slow_headers": framing_faults.slow_headers,
        "slow_drip": framing_faults.slow_drip,
        "never_ends": framing_faults.never_ends,
        "truncated_content_length": lambda: framing_faults.truncated(10, Framing.CONTENT_LENGTH),
        "truncated_chunked": lambda: framing_faults.truncated(10, Framing.CHUNKED),
        "truncated_close_delimited": lambda: framing_faults.truncated(10, Framing.CLOSE_DELIMITED),
        "gzip_bomb": read_faults.gzip_bomb,
        "deep_nesting": read_faults.deep_nesting,
        "byte_order_mark": read_faults.byte_order_mark,
        "trailing_text": read_faults.trailing_text,
        "empty_object": read_faults.empty_object,
    }
)

# Answers with one record in them that is set aside alone.
POISONED_READS: Mapping[str, Callable[[], Fault]] = MappingProxyType(
    {
        "long_number": read_faults.long_number,
        "not_a_number": read_faults.not_a_number,
        "nul": read_faults.nul,
        "lone_surrogate": read_faults.lone_surrogate,
    }
)

# Answers that can be read; what they mean is for the reader to judge.
READABLE_READS: Mapping[str, Callable[[], Fault]] = MappingProxyType(
    {
        "empty_list": read_faults.empty_list,
        "null": read_faults.null,
        "shuffled": read_faults.shuffled,
        "duplicated": read_faults.duplicated,
        "two_owners": read_faults.two_owners,
        "wrong_content_type": read_faults.wrong_content_type,
        "chunked": lambda: framing_faults.framed(Framing.CHUNKED),
        "close_delimited": lambda: framing_faults.framed(Framing.CLOSE_DELIMITED),
    }
)

# Answers to `POST /records`.
WRITES: Mapping[str, Callable[[], Fault]] = MappingProxyType(
    {
        "error_before_applying": write_faults.error_before_applying,
        "reset_before_applying": framing_faults.reset,
        "silence_before_applying": framing_faults.silence,
        "applied_then_error": write_faults.applied_then_error,
        "applied_then_silence": write_faults.applied_then_silence,
        "applied_then_reset": write_faults.applied_then_reset,
        "first_applied": lambda: write_faults.first_applied(1),
        "first_applied_success": lambda: write_faults.first_applied(1, 204),
        "success_with_nothing_applied": write_faults.success_with_nothing_applied,
        "success_with_something_else": write_faults.success_with_something_else,
        "delivered_twice": write_faults.delivered_twice,
        "applied_late": write_faults.applied_late,
        "applied_late_after_error": lambda: write_faults.applied_late(code=503),
    }
)
