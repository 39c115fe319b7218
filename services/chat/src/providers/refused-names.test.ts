import { expect, it } from '@jest/globals';
import { hourMs } from '@gatehouse/kit/bounds';
import { maxNamed, maxRefusedNames, maxRefusing } from '../bounds.ts';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { RefusedNames } from './refused-names.ts';

const [tenant, other] = ['t-1', 't-2'];
const models = Array.from({ length: maxRefusing + 1 }, (_, n) => ({ id: `m-${n}`, provider: 'p' }));
const providers = [{ name: 'p', kind: 'openai', base_url: 'http://127.0.0.1:1' }];
const all: readonly Model[] = [...Catalogue.parse({ providers, models }).models.values()];
const modelAt = (index: number): Model => {
  const model = all[index];
  if (model === undefined) throw new Error(`there is no model ${index}`);
  return model;
};
const model = modelAt(0);
const names = (count: number, from = 0): string[] => Array.from({ length: count }, (_, n) => `n-${n + from}`);

it('names are new once, for an hour', () => {
  let now = 0;
  const refused = new RefusedNames(() => now);
  expect(refused.add(model, tenant, ['a'])).toBe(true);
  expect(refused.add(model, tenant, ['a'])).toBe(false);
  expect(refused.add(model, tenant, [])).toBe(false);
  expect([...refused.namesOf(model, tenant)]).toEqual(['a']);
  now = hourMs;
  expect(refused.namesOf(model, tenant).size).toBe(0);
  expect(refused.add(model, tenant, ['a'])).toBe(true);
});

it('names beyond the bound displace no others, and are not new', () => {
  const refused = new RefusedNames();
  expect(refused.add(model, tenant, names(maxRefusedNames - 1))).toBe(true);
  expect(refused.add(model, tenant, ['n-0', 'last', 'first too many'])).toBe(true);
  for (let n = 0; n < 3; n += 1)
    expect(refused.add(model, tenant, names(9, maxRefusedNames + n))).toBe(false);
  expect([...refused.namesOf(model, tenant)]).toEqual([...names(maxRefusedNames - 1), 'last']);
});

it('a tenant with refusals everywhere displaces its own, and a reader none', () => {
  const refused = new RefusedNames();
  refused.add(model, other, ['a']);
  for (const one of all) refused.add(one, tenant, ['a']);
  for (let n = 0; n <= maxNamed; n += 1) refused.namesOf(model, `reader-${n}`);
  expect(refused.namesOf(model, tenant).size).toBe(0);
  expect(refused.namesOf(modelAt(maxRefusing), tenant).size).toBe(1);
  expect(refused.namesOf(model, other).size).toBe(1);
  for (let n = 0; n < maxNamed; n += 1) refused.add(model, `writer-${n}`, ['a']);
  expect(refused.namesOf(model, other).size).toBe(0);
});
