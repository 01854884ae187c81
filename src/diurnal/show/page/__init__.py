"""The page of a stream: one HTML file that opens offline. For everybody, or for the custodian's eyes.

`file` fills the template with `parts`; `content` collects what is public (with `words`, the promise in words, and
`ledger`, the ledger in words) and `truth` what is not; `bars` draws without a script; `static/` has the template,
style and scripts. The service (`show.web`) says the same words, in the same style.
"""

from __future__ import annotations

from diurnal.show.page.file import counted_page, custodian_page, public_page

__all__ = ["counted_page", "custodian_page", "public_page"]
