"""What can go wrong where ownership is written, in our own words."""


class RegistryError(ValueError):
    """A registry value that cannot be written or read as asked; nothing was changed."""


class UnwritableLabel(RegistryError):
    """A label key or value that the heritage text has no way to represent: nothing in it is escaped."""


class ForeignText(RegistryError):
    """The text carries no ExternalDNS heritage, so there is no claim in it to change."""


class TxtNameTooLong(RegistryError):
    """The TXT record a claim needs cannot exist: a label over 63 or a name over 253 characters."""


class UnclaimableRecord(RegistryError):
    """A record set that no claim under this profile can be for: its TXT name reads as another's."""


class InvalidEncryptionKey(RegistryError):
    """A text that is not a TXT encryption key."""
