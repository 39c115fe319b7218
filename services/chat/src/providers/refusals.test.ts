import { expect, it } from '@jest/globals';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { ProviderFailure } from './provider-failure.ts';
import { Refusals, type RefusalsOptions } from './refusals.ts';
import { RefusedNames } from './refused-names.ts';

const catalogue = Catalogue.parse({
  providers: [{ name: 'p', kind: 'openai', base_url: 'http://127.0.0.1:1' }],
  models: [
    { id: 'a', provider: 'p' },
    { id: 'b', provider: 'p' },
  ],
});
const [model, other] = [...catalogue.models.values()] as [Model, Model];

const refusal = (message: string, status = 400): ProviderFailure =>
  new ProviderFailure('status', 'p', { status, message });
const beta = (name: string): ProviderFailure =>
  refusal(`Unexpected value(s) \`${name}\` for the \`anthropic-beta\` header.`);

function refusalsWith(refused: RefusedNames, api: RefusalsOptions['api'] = 'messages'): Refusals {
  const get = (): unknown => ({ adapter: { fits: () => true } });
  const providers = { get, refused } as unknown as RefusalsOptions['providers'];
  return new Refusals({ api, tenantId: 't', providers });
}

it('an attempt lacks the names known at its begin, so each of two at the same time goes on', () => {
  const refused = new RefusedNames();
  const [one, two] = [refusalsWith(refused), refusalsWith(refused)];
  for (const run of [one, two]) run.begin(model);
  for (const run of [one, two]) expect(run.isNeededAfter(beta('b-1'), model)).toBe(true);
  expect([...one.names]).toEqual([]);
  for (const run of [one, two]) {
    run.begin(model);
    expect([...run.names]).toEqual(['b-1']);
    expect(run.isNeededAfter(beta('b-1'), model)).toBe(false);
  }
});

it('a run lacks what it found itself, also if the memory has lost it, and for this model alone', () => {
  const refused = new RefusedNames();
  const run = refusalsWith(refused);
  run.begin(model);
  run.isNeededAfter(beta('b-1'), model);
  refused.add(
    model,
    't',
    Array.from({ length: 1_000 }, (_, index) => `n-${index}`),
  );
  run.begin(model);
  expect(run.names.has('b-1')).toBe(true);
  run.begin(other);
  expect(run.names.has('b-1')).toBe(false);
});

it.each([
  ['another status', refusal('invalid beta flag', 500)],
  ['other words', refusal('max_tokens is too large')],
  ['an answer', {}],
])('nothing is to be left out after %s', (_case, outcome) => {
  const run = refusalsWith(new RefusedNames());
  run.begin(model);
  expect(run.isNeededAfter(outcome, model)).toBe(false);
});

it('each way to fill in missing reasoning is tried once', () => {
  const run = refusalsWith(new RefusedNames());
  const fills = Array.from({ length: 4 }, () => {
    run.begin(model);
    run.isNeededAfter(refusal('reasoning_content is missing'), model);
    return run.reasoningFill;
  });
  expect(fills).toEqual([undefined, 'calls', 'all', 'space']);
  expect(run.isNeededAfter(refusal('reasoning_content is missing'), model)).toBe(false);
  const counted = refusalsWith(new RefusedNames(), null);
  counted.begin(model);
  expect(counted.isNeededAfter(refusal('reasoning_content is missing'), model)).toBe(false);
});
