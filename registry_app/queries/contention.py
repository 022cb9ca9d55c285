"""Contention: names where what instances want and what is owned do not agree."""

from django.db.models import Prefetch, Q, QuerySet

from registry_app.models import Contention, ContentionOwner, Owner, Provider


def list_contention() -> QuerySet[Contention]:
    """All contention with its provider, without secrets. The provider is read by itself: joined, it leads the
    planners away from the index that has the order of a page."""
    return Contention.objects.prefetch_related(Prefetch("provider", Provider.with_deleted.only("name")))


def build_owner_query(owner: Owner | int) -> Q:
    """Contention that names an owner: it wants the name, or owns what is there."""
    return Q(pk__in=ContentionOwner.objects.filter(owner=owner).values("contention"))
