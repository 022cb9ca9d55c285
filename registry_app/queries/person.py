"""The person behind an act that was stored, with the rights they have now."""

from django.contrib.auth import get_user_model

from registry_app.actor import Actor


def fetch_person(user_id: int | None, name: str) -> Actor:
    """Whoever asked, as they are today. Deleted or deactivated since, they are nobody and may nothing."""
    known = get_user_model().objects.filter(is_active=True)
    user = None if user_id is None else known.filter(pk=user_id).first()
    if user is None:
        return Actor(kind="user", name=name)
    return Actor(kind="user", name=name, user_id=user.pk, is_superuser=bool(user.is_superuser))
