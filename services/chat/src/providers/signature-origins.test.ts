import { createRegistry } from '@gatehouse/kit/metrics';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { longestBlock } from '@gatehouse/test/longest-block';
import { describe, expect, it } from '@jest/globals';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { dialects } from '@gatehouse/dialects/dialects';
import { signatureIdsIn } from '@gatehouse/dialects/signatures-in';
import { ProviderRegistry } from './registry.ts';
import {
  accountOf,
  originOf,
  readsSignatures,
  SignatureOrigins,
  signatureDigest,
} from './signature-origins.ts';

const catalogueOf = (models: readonly Record<string, unknown>[]): Catalogue =>
  Catalogue.parse({
    providers: [
      {
        ...{ name: 'openai', kind: 'openai', base_url: 'https://api.openai.com/v1' },
        keys: [{ env: 'A' }, { env: 'B' }],
      },
      { name: 'lone', kind: 'openai', base_url: 'https://lone.test/v1', api_key_env: 'A' },
      {
        ...{ name: 'anthropic', kind: 'anthropic', base_url: 'https://api.anthropic.com' },
        keys: [{ env: 'C' }, { env: 'D' }],
      },
      { name: 'other', kind: 'anthropic', base_url: 'https://other.test', api_key_env: 'C' },
      { name: 'bedrock', kind: 'bedrock', region: 'eu-west-1', api_key_env: 'C' },
    ],
    models,
  });
const { models } = catalogueOf([
  { id: 'gpt', provider: 'openai', api: 'responses' },
  { id: 'lone', provider: 'lone', api: 'responses' },
  { id: 'claude', provider: 'anthropic' },
  { id: 'other', provider: 'other' },
  { id: 'cloud', provider: 'bedrock', upstream_model: 'eu.anthropic.claude-opus-5-v1:0' },
  { id: 'nova', provider: 'bedrock', upstream_model: 'amazon.nova-pro-v1:0' },
  { id: 'chat-one', provider: 'openai', upstream_model: 'gemini-3-pro' },
  { id: 'chat-two', provider: 'lone', upstream_model: 'gemini-3-pro' },
]);
const model = (id: string): Model => models.get(id) as Model;
const MiB = 1024 * 1024;
/** 50 ms are promised for each part of work on an idle machine. */
const mostMs = 500;
const signature = 'gAAAAABo-a-signature-of-thoughts-that-is-long-enough';
const answer = Buffer.from(JSON.stringify({ output: [{ type: 'reasoning', encrypted_content: signature }] }));

describe('the origins of signatures', () => {
  it("are the account of a key for OpenAI's API, and the vendor in all its places for Anthropic's", () => {
    expect(originOf(model('gpt'), 'env A')).not.toBe(originOf(model('gpt'), 'env B'));
    expect(originOf(model('gpt'), 'env A')).not.toBe(originOf(model('lone'), 'env A'));
    expect([originOf(model('claude'), 'env C'), originOf(model('cloud'), null)]).toEqual([
      'anthropic',
      'anthropic',
    ]);
    expect(originOf(model('other'), null)).toMatch(/^anthropic=[0-9a-f]{16}$/);
    expect(originOf(model('nova'), null)).toMatch(/^converse=/);
    expect(accountOf(model('claude'), 'env C')).toBeNull();
    // Servers of one name of a model may be of different vendors.
    expect(accountOf(model('chat-one'), 'env A')).toBe(accountOf(model('chat-one'), 'env B'));
    expect(accountOf(model('chat-one'), 'env A')).not.toBe(accountOf(model('chat-two'), 'env A'));
  });

  it('matter for the models that may get a signature as its client has it', () => {
    const reads = (id: string) =>
      (['chat', 'responses', 'messages', 'gemini'] as const).filter((api) => readsSignatures(api, model(id)));
    expect(['gpt', 'claude', 'cloud', 'nova'].map(reads)).toEqual([
      ['responses'],
      ['messages'],
      ['messages'],
      [],
    ]);
  });

  it.each([
    ['one key', [{ id: 'lone', provider: 'lone', api: 'responses' }], []],
    ['two keys', [{ id: 'gpt', provider: 'openai', api: 'responses' }], ['responses']],
    ['two keys of Anthropic', [{ id: 'claude', provider: 'anthropic' }], []],
    [
      'two servers of one API',
      [
        { id: 'claude', provider: 'anthropic' },
        { id: 'other', provider: 'other' },
      ],
      ['messages'],
    ],
  ])('are noted where there are two: %s', (_name, entries, divided) => {
    const secrets = { A: 'a', B: 'b', C: 'c', D: 'd' };
    const metrics = createRegistry('test');
    const registry = new ProviderRegistry({
      ...{ catalogue: catalogueOf(entries), secrets, metrics, keyRing: KeyRing.parse(newKeyRing('k')) },
    });
    const apis = ['chat', 'responses', 'messages', 'gemini'] as const;
    expect(apis.filter((api) => registry.dividesSignatures(api, false))).toEqual(divided);
    expect(registry.dividesSignatures('responses', true)).toBe(true);
  });
});

/** Ids of the signatures that a run notes in a whole answer. */
async function madeIn(api: 'responses' | 'messages' | 'gemini', answer: unknown): Promise<readonly Buffer[]> {
  const signatures = new SignatureOrigins(api, new Map());
  const text = Buffer.isBuffer(answer) ? answer : Buffer.from(JSON.stringify(answer));
  await signatures.noteWhole(text, 'tenant', () => 'origin');
  return signatures.made.map(({ digest }) => digest);
}
const digestOf = (id: string): Buffer => signatureDigest(id.slice(-32));

describe('the signatures in a text', () => {
  const { members } = dialects.messages.signatures;

  it('are found in the largest answers, and in the longest', async () => {
    const ids = Array.from({ length: 4_000 }, (_, place) => `gAAAA-${place}`.padStart(40, 'x'));
    const thoughts = ids.map((id) => ({ type: 'reasoning', encrypted_content: id }));
    const output = [{ role: 'assistant', content: 'a'.repeat(30 * MiB) }, ...thoughts];
    expect(await madeIn('responses', { output })).toEqual(ids.map(digestOf));
  });

  it('are found wherever pieces of the search end, once each', async () => {
    const name = '{"signature":"';
    for (let place = MiB - name.length - 2; place <= MiB + 2; place += 1) {
      const text = Buffer.from(`${' '.repeat(place)}${name}${signature}"}`);
      expect(signatureIdsIn(members, text)).toEqual([signature.slice(-32)]);
    }
  });

  it.each(['"data":"@"', '"data": "@"', '"signature" : "@"'])('are found as %s', async (member) => {
    const text = Buffer.from(`{${member.replace('@', signature)}}`);
    expect(await madeIn('messages', text)).toEqual([digestOf(signature)]);
  });

  const quotes = (bytes: number): string => `"${'\\"'.repeat(bytes / 2)}"`;
  const worst: readonly [string, (bytes: number) => string][] = [
    ['escaped quotes', quotes],
    ['names', (bytes) => `"${'ata\\":'.repeat(bytes / 6)}"`],
    ['spaces', (bytes) => `{"signature"${' '.repeat(bytes)}:"a"}`],
    ['members without a signature', (bytes) => `{${'"data":"",'.repeat(bytes / 10)}"a":1}`],
  ];

  it('of the largest answers are searched for in several turns', async () => {
    let turns = 0;
    const count = setInterval(() => (turns += 1));
    await madeIn('messages', Buffer.from(quotes(62 * MiB)));
    clearInterval(count);
    expect(turns).toBeGreaterThan(0);
  });

  it.each(worst)(
    'in the largest answers of %s are searched for in pieces of 50 ms',
    async (_name, textOf) => {
      const answer = Buffer.from(`[${textOf(62 * MiB)}]`);
      expect(await longestBlock(() => madeIn('messages', answer))).toBeLessThan(mostMs);
    },
  );

  it.each(worst)(
    'in the longest frames of %s are searched for in 50 ms, and in longer ones not at all',
    async (_name, textOf) => {
      const frame = Buffer.from(`[${textOf(15 * MiB)},{"signature":"${signature}"}]`);
      const signatures = new SignatureOrigins('messages', new Map());
      const longest = await longestBlock(async () => signatures.note(frame, () => 'origin'));
      expect(longest).toBeLessThan(mostMs);
      expect(signatureIdsIn(members, Buffer.concat([frame, Buffer.alloc(2 * MiB, ' ')]))).toEqual([]);
    },
  );
});

describe('the signatures of a run', () => {
  it('go back to their origins alone', () => {
    const signatures = new SignatureOrigins('responses', new Map());
    signatures.note(answer, () => 'b');
    const goesTo = (origin: string, text: unknown): boolean =>
      signatures.keeps(
        () => origin,
        () => 'a',
      )(text);
    expect([goesTo('a', signature), goesTo('b', signature)]).toEqual([false, true]);
    // One that is not known was made where the session goes first.
    expect([goesTo('a', `${signature}-other`), goesTo('b', `${signature}-other`)]).toEqual([true, false]);
  });

  it('that the conversation had are not kept again', () => {
    const known = new SignatureOrigins('responses', new Map([[signature.slice(-32), 'a']]));
    known.note(answer, () => 'b');
    expect(known.made).toEqual([]);
    const others = new SignatureOrigins('responses', new Map());
    others.note(answer, () => 'b');
    expect(others.made).toEqual([{ digest: expect.any(Buffer), origin: 'b' }]);
  });
});
