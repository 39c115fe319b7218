import type { WebhookEndpoint } from '@gatehouse/contract/webhook-endpoints';

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
  // A string of JSON is one of Python and of TOML, too.
  const [address, key, named] = [origin, secret, model].map((text) => JSON.stringify(text));
  return {
    curl: `curl -sS ${quoted(`${origin}/v1/chat/completions`)} \\
  -H ${quoted(`Authorization: Bearer ${secret}`)} -H 'Content-Type: application/json' \\
  -d ${quoted(body)}`,
    'OpenAI SDK': `# pip install openai
from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(`${origin}/v1`)}, api_key=${key})
answer = client.chat.completions.create(
    model=${named}, messages=[{"role": "user", "content": "Say hello."}]
)
print(answer.choices[0].message.content)`,
    'Anthropic SDK': `# pip install anthropic
from anthropic import Anthropic

client = Anthropic(base_url=${address}, api_key=${key})
answer = client.messages.create(
    model=${named}, max_tokens=256, messages=[{"role": "user", "content": "Say hello."}]
)
print(answer.content[0].text)`,
    'Google SDK': `# pip install google-genai
from google import genai

client = genai.Client(api_key=${key}, http_options={"base_url": ${address}})
answer = client.models.generate_content(model=${named}, contents="Say hello.")
print(answer.text)`,
    'Claude Code': `export ANTHROPIC_BASE_URL=${quoted(origin)}
export ANTHROPIC_AUTH_TOKEN=${quoted(secret)}
export ANTHROPIC_MODEL=${quoted(model)}
claude`,
    Codex: `export GATEHOUSE_KEY=${quoted(secret)}
codex -c ${quoted(`model=${named}`)} -c model_provider=gatehouse -c ${quoted(
      `model_providers.gatehouse={ name = "Gatehouse", base_url = ${JSON.stringify(`${origin}/v1`)}, env_key = "GATEHOUSE_KEY", wire_api = "responses" }`,
    )}`,
  };
}

/** An endpoint as far as a delivery to it needs. */
type Signed = Pick<WebhookEndpoint, 'id' | 'url' | 'scheme' | 'header' | 'encoding' | 'prefix'>;

/** Lines that send a delivery to an endpoint as its sender would. */
export function deliveryOf({ id, url, scheme, header, encoding, prefix }: Signed, secret: string): string {
  const payload = quoted(JSON.stringify({ input: 'Say hello.' }));
  if (scheme === 'token')
    return `curl -sS ${quoted(url)} \\
  -H ${quoted(`Authorization: Bearer ${secret}`)} -H 'Content-Type: application/json' \\
  -d ${payload}`;
  const hmac = ` --header ${quoted(header ?? '')} --encoding ${encoding ?? 'hex'} --prefix ${quoted(prefix ?? '')}`;
  return `export GATEHOUSE_WEBHOOK_SECRET=${quoted(secret)}
echo ${payload} | gatehouse webhooks send --endpoint ${id} --scheme ${scheme}${scheme === 'hmac' ? hmac : ''}`;
}

/** The line that makes Telegram send the messages of a bot to a URL. */
export function setWebhookOf(url: string): string {
  const body = { url, secret_token: 'SECRET_TOKEN', allowed_updates: ['message'] };
  return `curl -sS 'https://api.telegram.org/botBOT_TOKEN/setWebhook' \\
  -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`;
}

/** A text as one word of a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
