import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { deliveryOf, setWebhookOf, snippetsOf } from './snippets.ts';

const values = { origin: 'http://127.0.0.1:1', secret: 'gwk_abc', model: 'gpt-5.1' };
/** Texts of a person with signs that shells and strings read. */
const hostile = `o'"; touch /tmp/x $(id) \\ \`id\``;

/** The last words of each command, which prints its own in place of what it does. */
function wordsIn(script: string): string[] {
  const commands = ['curl', 'gatehouse', 'claude', 'codex'];
  const fakes = commands.map((name) => `${name}() { printf '%s\\0' ${name} "$@"; env -0; }`).join('\n');
  return execFileSync('sh', ['-c', `${fakes}\n${script}`], { encoding: 'utf8', env: {} }).split('\0');
}

describe('snippets', () => {
  it.each(Object.entries(snippetsOf(values)))('for %s have address, key and model', (_program, text) => {
    for (const value of Object.values(values)) expect(text).toContain(value);
  });

  it.each([values.model, hostile])('for shells hand the model %j over as it is', (model) => {
    const { curl = '', 'Claude Code': claude = '', Codex: codex = '' } = snippetsOf({ ...values, model });
    const sent = wordsIn(curl);
    expect(JSON.parse(sent[sent.indexOf('-d') + 1] ?? '')).toMatchObject({ model });
    expect(wordsIn(claude)).toContain(`ANTHROPIC_MODEL=${model}`);
    expect(wordsIn(codex)).toContain(`model=${JSON.stringify(model)}`);
  });

  it.each([values.model, hostile])('in Python have the model %j as it is', (model) => {
    for (const program of ['OpenAI SDK', 'Anthropic SDK', 'Google SDK']) {
      const text = snippetsOf({ ...values, model })[program] ?? '';
      const string = /model=("(?:[^"\\]|\\.)*")/.exec(text)?.[1] ?? '';
      expect(JSON.parse(string)).toBe(model);
    }
  });
});

describe('a line to try', () => {
  const endpoint = { id: 'e', url: 'https://gw.example.com/v1/webhooks/llm?endpoint=e' } as const;
  const plain = { header: null, encoding: null, prefix: null } as const;

  it('an endpoint has its secret, header and prefix as they are', () => {
    const signed = { scheme: 'hmac', header: 'X-Signature', encoding: 'base64', prefix: hostile } as const;
    const words = wordsIn(deliveryOf({ ...endpoint, ...signed }, hostile));
    expect(words).toContain(`GATEHOUSE_WEBHOOK_SECRET=${hostile}`);
    expect(words.slice(words.indexOf('--header'), words.indexOf('--header') + 6)).toEqual([
      ...['--header', 'X-Signature', '--encoding', 'base64', '--prefix'],
      hostile,
    ]);
  });

  it('an endpoint with a token has its URL and secret as they are', () => {
    const words = wordsIn(deliveryOf({ ...endpoint, ...plain, scheme: 'token' }, hostile));
    expect(words).toContain(endpoint.url);
    expect(words).toContain(`Authorization: Bearer ${hostile}`);
  });

  it('a bot has its URL as it is', () => {
    const words = wordsIn(setWebhookOf(`${endpoint.url}&a='`));
    expect(JSON.parse(words[words.indexOf('-d') + 1] ?? '')).toMatchObject({ url: `${endpoint.url}&a='` });
  });
});
