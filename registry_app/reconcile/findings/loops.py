"""Loops that do not make what is wanted: refused, failed, incomplete, or with something left alone."""

from collections.abc import Sequence

from registry_app.models import LoopRun, Owner, Provider
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity, compute_fingerprint

_STATUS = LoopRun.Status
_MOST_NAMED = 3
_FROZEN = "frozen"


def compute_loop_fingerprint(owner: Owner, provider: Provider) -> bytes:
    """Under which an owner's loop at a provider has its one finding."""
    return compute_fingerprint(Kind.LOOP_STUCK, provider.pk, owner.owner_id)


def draft_stuck_run(run: LoopRun, status: str, reason: str, code: str) -> FindingDraft:
    """Of a run that ended refused (`code` says by what), failed or incomplete."""
    about = f"the loop of {run.owner.owner_id} at {run.provider.name}"
    if status == _STATUS.REFUSED:
        severity = Severity.INFO if code == _FROZEN else Severity.ERROR
        return _draft(run, severity, f"A safety rule refused {about}. {reason}", code)
    if status == _STATUS.FAILED:
        text = f"{_begin(about)} could not run, and nothing was sent. {reason} It is retried automatically "
        return _draft(run, Severity.WARNING, f"{text}if the loop is registered. Correct the reason.", code)
    text = f"{_begin(about)} did not make all changes. {reason} The run shows for each record set "
    return _draft(run, Severity.WARNING, f"{text}what is there now. The next run plans the rest again.", code)


def draft_left_alone(run: LoopRun, sentences: Sequence[str]) -> FindingDraft:
    """Of a run that made every allowed change and left some desired record sets alone: a sentence each."""
    about = f"the loop of {run.owner.owner_id} at {run.provider.name}"
    count = len(sentences)
    what = "one record set" if count == 1 else f"{count} record sets"
    named = " ".join(sentences[:_MOST_NAMED])
    rest = f" {count - _MOST_NAMED} more are listed in the run." if count > _MOST_NAMED else ""
    explanation = f"{_begin(about)} leaves {what} alone. {named}{rest} Remove the reason, or the endpoint."
    return _draft(run, Severity.INFO, explanation, "left_alone")


def draft_unreadable_manifests(owner: Owner, provider: Provider, problem: str) -> FindingDraft:
    """Of manifests that cannot be taken, as `problem` says: there is no run."""
    return FindingDraft(
        kind=Kind.LOOP_STUCK,
        severity=Severity.ERROR,
        subject=owner.owner_id,
        owner_id=owner.owner_id,
        explanation=f"The loop of {owner.owner_id} at {provider.name} did not run. {problem} Correct "
        "them, and run it again.",
        details={"code": "manifests"},
    )


def _draft(run: LoopRun, severity: Severity, explanation: str, code: str) -> FindingDraft:
    return FindingDraft(
        kind=Kind.LOOP_STUCK,
        severity=severity,
        subject=run.owner.owner_id,
        owner_id=run.owner.owner_id,
        explanation=explanation,
        suggestion={"kind": "look_at_loop_run", "loop_run_id": str(run.public_id)},
        details={"code": code, "source": run.source},
    )


def _begin(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
