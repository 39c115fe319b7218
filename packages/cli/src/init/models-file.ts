/** The text of `models.yaml`: patterns for the models of three providers, with the public prices of their names. */
export const modelsFileText = `# The catalogue: the providers, and the models that tenants may use (docs/operators/models.md).
# A gateway uses a change within ten seconds. \${NAME:-default} is replaced by the environment variable NAME.

providers:
  - name: openai
    kind: openai
    base_url: \${OPENAI_BASE_URL:-https://api.openai.com/v1}
    api_key_env: OPENAI_API_KEY

  - name: anthropic
    kind: anthropic
    base_url: \${ANTHROPIC_BASE_URL:-https://api.anthropic.com}
    api_key_env: ANTHROPIC_API_KEY

  - name: google
    kind: google
    base_url: \${GOOGLE_GEMINI_BASE_URL:-https://generativelanguage.googleapis.com}
    api_key_env: GEMINI_API_KEY

# A pattern serves every name that begins so, at the public price of that name. GET /v1/models shows the names of its
# list. Without the key of its provider, a model returns 502 provider_authentication.
models:
  - id: gpt-*
    provider: openai
    list: [gpt-4.1-mini, gpt-4.1, gpt-4.1-nano, gpt-5.4-nano]

  - id: o*
    provider: openai
    list: [o4-mini]

  - id: claude-*
    provider: anthropic
    list: [claude-sonnet-5-5, claude-opus-5-5]

  - id: gemini-*
    provider: google
    list: [gemini-3.8-flash]

  - id: text-embedding-*
    provider: openai
    list: [text-embedding-3-small]

  - id: omni-moderation-*
    provider: openai
    list: [omni-moderation-latest]

# Memory searches by words. With a key of the provider, these lines let it search by meaning too.
# embeddings:
#   model: text-embedding-3-small
`;
