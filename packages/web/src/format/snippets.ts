/** The values in a snippet. */
export interface SnippetValues {
  /** The address of the gateway, without a path. */
  origin: string;
  secret: string;
  model: string;
}

/** Lines to paste for a first request, by program. */
export function snippetsOf({ origin, secret, model }: SnippetValues): Record<string, string> {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello.' }] });
  return {
    curl: `curl -sS ${origin}/v1/chat/completions \\
  -H 'Authorization: Bearer ${secret}' -H 'Content-Type: application/json' \\
  -d '${body}'`,
    'OpenAI SDK': `# pip install openai
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key="${secret}")
answer = client.chat.completions.create(
    model="${model}", messages=[{"role": "user", "content": "Say hello."}]
)
print(answer.choices[0].message.content)`,
    'Anthropic SDK': `# pip install anthropic
from anthropic import Anthropic

client = Anthropic(base_url="${origin}", api_key="${secret}")
answer = client.messages.create(
    model="${model}", max_tokens=256, messages=[{"role": "user", "content": "Say hello."}]
)
print(answer.content[0].text)`,
    'Google SDK': `# pip install google-genai
from google import genai

client = genai.Client(api_key="${secret}", http_options={"base_url": "${origin}"})
answer = client.models.generate_content(model="${model}", contents="Say hello.")
print(answer.text)`,
    'Claude Code': `export ANTHROPIC_BASE_URL=${origin}
export ANTHROPIC_AUTH_TOKEN=${secret}
export ANTHROPIC_MODEL=${model}
claude`,
    Codex: `export GATEHOUSE_KEY=${secret}
codex -c model=${model} -c model_provider=gatehouse -c 'model_providers.gatehouse={ name = "Gatehouse", base_url = "${origin}/v1", env_key = "GATEHOUSE_KEY", wire_api = "responses" }'`,
  };
}
