import { expect, it } from '@jest/globals';
import { rateOf } from './event-rates.ts';

const subjectOf = (type: string, data: Record<string, unknown>) => rateOf({ type, data })?.subject;

it('two own keys at one provider that fail are two events, and so are two keys of a pool', () => {
  const failing = (fields: Record<string, unknown>) =>
    subjectOf('provider_key.failing', { provider: 'openai', key: null, provider_key_id: null, ...fields });
  const [first, second] = [failing({ provider_key_id: 'a' }), failing({ provider_key_id: 'b' })];
  expect(new Set([first, second, failing({ key: 1 }), failing({ key: 2 })]).size).toBe(4);
  expect(failing({ provider_key_id: 'a', prefix: 'sk-a' })).toBe(first);
});

it('a model without a price is reported once an hour', () => {
  const unpriced = { provider: 'openai', model: 'gpt' };
  expect(rateOf({ type: 'model.unpriced', data: unpriced })?.everyS).toBe(3_600);
  expect(subjectOf('model.unpriced', { ...unpriced, model: 'other' })).not.toBe(
    subjectOf('model.unpriced', unpriced),
  );
});

it('events of other types have no rate', () => {
  expect(rateOf({ type: 'key.expiring', data: {} })).toBeNull();
});
