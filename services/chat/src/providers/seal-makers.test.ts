import { expect, it } from '@jest/globals';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { SealMakers } from './seal-makers.ts';

const { models } = Catalogue.parse({
  providers: [
    {
      name: 'openai',
      kind: 'openai',
      base_url: 'https://api.openai.com/v1',
      keys: [{ env: 'A' }, { env: 'B' }],
    },
    { name: 'anthropic', kind: 'anthropic', base_url: 'https://api.anthropic.com', keys: [{ env: 'C' }] },
  ],
  models: [
    { id: 'gpt', provider: 'openai', api: 'responses' },
    { id: 'claude', provider: 'anthropic' },
  ],
});
const at = (id: string, key: number | null) => ({ model: models.get(id) as Model, key });
const seal = 'gAAAAABo-a-seal-of-thoughts-that-is-long-enough';

it('sends encrypted reasoning back with the key alone that it came with', () => {
  const seals = new SealMakers();
  const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: seal };
  seals.note('t', at('gpt', 2), Buffer.from(JSON.stringify({ output: [item] })));
  const goesTo = (key: number): boolean =>
    seals.keeps('t', { by: at('gpt', key), first: at('gpt', 1) })(seal);
  expect([goesTo(1), goesTo(2)]).toEqual([false, true]);
  // One that is not known was made with the key that the session goes to first.
  const unknown = (key: number): boolean =>
    seals.keeps('t', { by: at('gpt', key), first: at('gpt', 1) })(`${seal}-other`);
  expect([unknown(1), unknown(2)]).toEqual([true, false]);
});

it('sends signatures of Anthropic with any key', () => {
  const seals = new SealMakers();
  const block = { type: 'thinking', thinking: 'hm', signature: seal };
  seals.note('t', at('claude', 2), Buffer.from(JSON.stringify({ content: [block] })));
  expect(seals.keeps('t', { by: at('claude', 1), first: at('claude', 1) })(seal)).toBe(true);
});
