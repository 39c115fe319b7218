"""What Schemathesis cannot know of our document: which keys it must spare, and where error codes are listed."""

import os
import uuid

import schemathesis

_protected = set(os.environ["PROTECTED_IDS"].lower().split())


@schemathesis.hook
def before_call(context, case, kwargs):
    """The keys it works with and their tenant are left alone: it would revoke, rotate or suspend them."""
    for name, value in (case.path_parameters or {}).items():
        if str(value).lower() in _protected:
            case.path_parameters[name] = str(uuid.uuid4())


@schemathesis.check
def documented_error_code(ctx, response, case):
    """An error's code is one that its response lists; a provider's own codes pass through, and nobody lists them."""
    if response.status_code < 400 or case.operation.path in ("/v1/chat/completions", "/v1/embeddings"):
        return
    documented = case.operation.definition.raw["responses"].get(str(response.status_code), {})
    code = response.json().get("error", {}).get("code")
    if code is not None and f"`{code}`" not in documented.get("description", ""):
        raise AssertionError(f"the code {code} is not listed at {response.status_code}")
