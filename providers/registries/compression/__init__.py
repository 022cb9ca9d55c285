"""Gzip, byte for byte as ExternalDNS's own library writes it: zlib packs the same text into other bytes."""
