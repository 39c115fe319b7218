import { createRegistry } from '@gatehouse/kit/metrics';
import { describe, expect, it } from '@jest/globals';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { sealIdsIn } from '../dialects/seals-in.ts';
import { accountOf, makerOf, readsSeals } from './makers.ts';
import { ProviderRegistry } from './registry.ts';
import { RunSeals } from './run-seals.ts';

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
]);
const model = (id: string): Model => models.get(id) as Model;
const seal = 'gAAAAABo-a-seal-of-thoughts-that-is-long-enough';
const answer = Buffer.from(JSON.stringify({ output: [{ type: 'reasoning', encrypted_content: seal }] }));

describe('the makers of seals', () => {
  it("are the account of a key for OpenAI's API, and the vendor in all its places for Anthropic's", () => {
    expect(makerOf(model('gpt'), 'env A')).not.toBe(makerOf(model('gpt'), 'env B'));
    expect(makerOf(model('gpt'), 'env A')).not.toBe(makerOf(model('lone'), 'env A'));
    expect([makerOf(model('claude'), 'env C'), makerOf(model('cloud'), null)]).toEqual([
      'anthropic',
      'anthropic',
    ]);
    expect(makerOf(model('other'), null)).toMatch(/^anthropic=[0-9a-f]{16}$/);
    expect(makerOf(model('nova'), null)).toMatch(/^converse=/);
    expect(accountOf(model('claude'), 'env C')).toBeNull();
  });

  it('matter for the models that may get a seal as its client has it', () => {
    const reads = (id: string) =>
      (['chat', 'responses', 'messages', 'gemini'] as const).filter((api) => readsSeals(api, model(id)));
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
    const registry = new ProviderRegistry({ catalogue: catalogueOf(entries), secrets, metrics });
    const apis = ['chat', 'responses', 'messages', 'gemini'] as const;
    expect(apis.filter((api) => registry.dividesSeals(api, false))).toEqual(divided);
    expect(registry.dividesSeals('responses', true)).toBe(true);
  });
});

describe('the seals in a text', () => {
  it('are found in the largest requests, and in the longest conversations', () => {
    const ids = Array.from({ length: 5_000 }, (_, place) => `gAAAA-${place}`.padStart(40, 'x'));
    const thoughts = ids.map((id) => ({ type: 'reasoning', encrypted_content: id }));
    const input = [{ role: 'user', content: 'a'.repeat(30 * 1024 * 1024) }, ...thoughts];
    const found = sealIdsIn('responses', Buffer.from(JSON.stringify({ input })));
    expect(found).toEqual(ids.map((id) => id.slice(-32)));
  });
});

describe('the seals of a run', () => {
  it('go back to their makers alone', () => {
    const seals = new RunSeals(new Map());
    seals.note('responses', answer, () => 'b');
    const goesTo = (maker: string, text: unknown): boolean =>
      seals.keeps(
        () => maker,
        () => 'a',
      )(text);
    expect([goesTo('a', seal), goesTo('b', seal)]).toEqual([false, true]);
    // One that is not known was made where the session goes first.
    expect([goesTo('a', `${seal}-other`), goesTo('b', `${seal}-other`)]).toEqual([true, false]);
  });

  it('that the conversation had are not kept again', () => {
    const known = new RunSeals(new Map([[seal.slice(-32), 'a']]));
    known.note('responses', answer, () => 'b');
    expect(known.made).toEqual([]);
    const others = new RunSeals(new Map());
    others.note('responses', answer, () => 'b');
    expect(others.made).toEqual([{ digest: expect.any(Buffer), maker: 'b' }]);
  });
});
