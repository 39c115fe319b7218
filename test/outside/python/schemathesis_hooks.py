"""What Schemathesis cannot know of our document: which keys it must spare, and where error codes are listed."""

import os
import re
import uuid

import schemathesis
from schemathesis.generation.meta import CoverageScenario
from schemathesis.specs.openapi.checks import allow_header_conformance, negative_data_rejection

_passed_on = re.compile(r"/v1/(chat/completions|embeddings|moderations|responses(/input_tokens|/compact)?)$|/openai/(?!models)|.*:")
# Lists of models ignore query parameters that they don't know: clients of other APIs send theirs.
_take_any_query = ("/v1/models", "/v1/models/{id}", "/v1beta/models", "/v1beta/models/{id}")
_protected = set(os.environ["PROTECTED_IDS"].lower().split())


@schemathesis.hook
def before_call(context, case, kwargs):
    """The keys it works with and their tenant are left alone: it would revoke, rotate or suspend them. Guardrails are
    disabled: they would check all other requests, whose tokens are then counted by estimate."""
    if "/guardrails" in case.operation.path and isinstance(case.body, dict) and case.body.get("enabled", True) is True:
        case.body["enabled"] = False
    for name, value in (case.path_parameters or {}).items():
        if str(value).lower() in _protected:
            case.path_parameters[name] = str(uuid.uuid4())


_wrong_types = set()


@schemathesis.hook
def filter_case(context, case):
    """Leaves out values beside a bound, which comes itself, and all but one value of a wrong type for each place in a
    request, since the same check refuses them."""
    coverage = case.meta.phase.data
    if "Near-boundary" in (getattr(coverage, "description", None) or ""):
        return False
    if getattr(coverage, "scenario", None) != CoverageScenario.INCORRECT_TYPE:
        return True
    place = (case.operation.label, coverage.parameter_location, coverage.parameter, coverage.location)
    is_new = place not in _wrong_types
    _wrong_types.add(place)
    return is_new


def _error_code(error):
    """The code of an error in the shape of OpenAI's, Google's or Anthropic's API, or of OAuth."""
    if isinstance(error, str):
        return error
    details = error.get("details")
    if isinstance(details, list):
        return details[0]["reason"].lower()
    return error.get("code") if details is None else details["error_code"]


@schemathesis.check
def documented_error_code(ctx, response, case):
    """An error's code is one that its response lists; a provider's own codes pass through, and nobody lists them."""
    if response.status_code < 400 or _passed_on.match(case.operation.path):
        return
    documented = case.operation.definition.raw["responses"].get(str(response.status_code), {})
    code = _error_code(response.json().get("error", {}))
    if code is not None and f"`{code}`" not in documented.get("description", ""):
        raise AssertionError(f"the code {code} is not listed at {response.status_code}")


@schemathesis.check
def wrong_data_refused(ctx, response, case):
    """What the document does not allow is refused, but for what is passed on: that is the provider's to judge."""
    # The library does not count these as refused: they come for a body or a query that is too large.
    path = case.operation.path
    if not _passed_on.match(path) and path not in _take_any_query and response.status_code not in (413, 431):
        negative_data_rejection(ctx, response, case)


@schemathesis.check
def allowed_methods(ctx, response, case):
    """A path that calls a method, as Google's API has them, is also that of a model whose name has a colon."""
    if ":" not in case.operation.path:
        allow_header_conformance(ctx, response, case)
