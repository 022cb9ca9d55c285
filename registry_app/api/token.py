"""API tokens: one's own to see, issue and revoke. A token's text is shown once."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.authentication import user_pk_of
from registry_app.api.fields import RowIdField, RowSerializer
from registry_app.api.idempotency import IDEMPOTENCY_KEY, LOCATION, idempotent
from registry_app.api.request import StrictSerializer, read_body
from registry_app.api.view_set import NounViewSet, describe
from registry_app.inventory.token import issue_token, revoke_token
from registry_app.models import ApiToken


class TokenAnswer(RowSerializer[ApiToken]):
    """A token without its secret."""

    user = serializers.CharField(source="user.username")
    issued_by = serializers.CharField(
        source="issued_by.username",
        default="",
        read_only=True,
        help_text="Who issued it: its user, or an administrator. Empty where that is not known any more.",
    )
    scopes = serializers.ListField(child=serializers.CharField())
    owners = serializers.SlugRelatedField[ApiToken](slug_field="owner_id", many=True, read_only=True)
    networks = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = ApiToken
        fields: tuple[str, ...] = (
            "id",
            "public_id",
            "name",
            "user",
            "issued_by",
            "scopes",
            "owners",
            "networks",
            "created_at",
            "expires_at",
            "last_used_at",
            "revoked_at",
        )


class IssuedTokenAnswer(TokenAnswer):
    """A token that was just issued."""

    token = serializers.CharField(help_text="To be sent as `Bearer`. Shown this once; empty in a replay.")

    class Meta(TokenAnswer.Meta):
        fields = (*TokenAnswer.Meta.fields, "token")


class TokenBody(StrictSerializer):
    """What the token may do, where, from where, and how long."""

    name = serializers.CharField(max_length=100)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=[(scope, scope) for scope in ApiToken.SCOPES]),
        min_length=1,
        max_length=len(ApiToken.SCOPES),
    )
    owners = serializers.ListField(
        child=serializers.CharField(max_length=255, trim_whitespace=False),
        default=list,
        max_length=1000,
        help_text="Owner ids it is narrowed to; none: anywhere its user may act.",
    )
    networks = serializers.ListField(
        child=serializers.CharField(max_length=50),
        default=list,
        max_length=100,
        help_text="Networks it may be used from, such as 192.0.2.0/24; none: anywhere.",
    )
    expires_at = serializers.DateTimeField(allow_null=True, default=None)
    user = RowIdField(required=False, help_text="For whom, by id; administrators only. Otherwise yourself.")


@describe(list="List your own tokens, newest first.", retrieve="One of your own tokens.")
class TokenViews(NounViewSet):
    queryset = ApiToken.objects.select_related("user", "issued_by").prefetch_related("owners")
    serializer_class = TokenAnswer
    scopes = {"create": "admin", "destroy": "admin"}

    def find_rows(self) -> QuerySet[ApiToken]:
        return super().find_rows().filter(user=self.actor.user_id)

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY, LOCATION], request=TokenBody, responses={201: IssuedTokenAnswer}
    )
    @idempotent(secrets=("token",))
    def create(self, request: Request) -> Response:
        """Issue a token. Its text is in this answer and nowhere else."""
        values = read_body(TokenBody, request)
        token, text = issue_token(
            self.actor,
            user_id=values.get("user") or user_pk_of(request),
            name=values["name"],
            scopes=values["scopes"],
            owner_ids=values["owners"],
            networks=values["networks"],
            expires_at=values["expires_at"],
        )
        headers = {"Location": self.reverse_action("detail", [token.pk])}
        return Response({**TokenAnswer(token).data, "token": text}, status=201, headers=headers)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: int) -> Response:
        """Revoke a token. It stops working at once."""
        revoke_token(self.actor, pk)
        return Response(status=204)
