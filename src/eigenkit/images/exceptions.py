"""What is said about images that are left out, or terms that cannot be learned well."""

from __future__ import annotations


class ImageWarning(UserWarning):
    """Something about the images or their terms that the user should know."""
