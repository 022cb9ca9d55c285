"""SnapshotIndex: the elements of the accepted snapshot, as hashes and names."""

from django.db import models

from registry_app.models.provider import Provider


class SnapshotIndex(models.Model):
    """What a sync needs to know of the accepted snapshot to read only the elements that changed since.

    It belongs to the snapshot whose `Provider.accepted_digest` it has, and says nothing of any other one. Of
    its chunks those of `generation` count. `claims_by_owner` says how many claims name each owner id,
    `record_sets_by_owner` how many record sets each has. `names_in_order` are the canonical names where the
    order of elements counts. `partial_syncs` were accepted since everything was read.
    """

    provider = models.OneToOneField(
        Provider, primary_key=True, on_delete=models.CASCADE, related_name="snapshot_index"
    )
    accepted_digest = models.CharField(max_length=64)
    reading_digest = models.BinaryField(max_length=16)
    content_type = models.TextField(blank=True)
    generation = models.PositiveBigIntegerField()
    set_aside = models.PositiveIntegerField(default=0)
    claims_by_owner = models.JSONField(default=dict)
    record_sets_by_owner = models.JSONField(default=dict)
    names_in_order = models.JSONField(default=list)
    partial_syncs = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"Index of the snapshot of {self.provider}"


class SnapshotIndexChunk(models.Model):
    """About a hundred elements.

    `hashes` are 16 bytes each, `hash_sum` is their sum, `name_keys` are 4 bytes each (see
    `mirror.element_index`), `kinds` one byte each (`ElementKind` there), `names` canonical names joined by
    line feeds, empty for an element that was set aside. `digest` covers the elements as they follow one
    another in the response; it is empty where they do not.
    """

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="snapshot_index_chunks")
    generation = models.PositiveBigIntegerField()
    number = models.PositiveIntegerField()
    digest = models.BinaryField(max_length=16)
    hashes = models.BinaryField()
    hash_sum = models.BinaryField(max_length=16)
    name_keys = models.BinaryField()
    kinds = models.BinaryField(default=bytes)
    names = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "generation", "number"], name="snapshot_index_chunk_once"
            ),
        ]

    def __str__(self) -> str:
        return f"Chunk {self.number} of the index of {self.provider}"
