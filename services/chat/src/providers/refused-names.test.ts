import { expect, it } from '@jest/globals';
import { hourMs } from '@gatehouse/kit/bounds';
import { maxNamed, maxRefusedNames, maxRefusedSignatures, maxRefusing } from '../bounds.ts';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { RefusedNames, signatureName } from './refused-names.ts';

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

it('a name is left out for an hour since its last refusal', () => {
  let now = 0;
  const refused = new RefusedNames(() => now);
  refused.add(model, tenant, ['a', 'b']);
  refused.add(model, tenant, []);
  now = hourMs - 1;
  refused.add(model, tenant, ['b']);
  expect([...refused.namesOf(model, tenant)]).toEqual(['a', 'b']);
  now = hourMs;
  expect([...refused.namesOf(model, tenant)]).toEqual(['b']);
  expect(refused.namesOf(model, other).size).toBe(0);
});

it('beyond the bound, names refused longest ago start over', () => {
  const refused = new RefusedNames();
  refused.add(model, tenant, names(maxRefusedNames));
  refused.add(model, tenant, ['n-0']);
  refused.add(model, tenant, ['new']);
  expect([...refused.namesOf(model, tenant)]).toEqual([...names(maxRefusedNames - 2, 2), 'n-0', 'new']);
  refused.add(model, tenant, names(2 * maxRefusedNames));
  expect(refused.namesOf(model, tenant).size).toBe(maxRefusedNames);
});

it('signatures of many conversations displace no hints, and hints no signatures', () => {
  const refused = new RefusedNames();
  const signatures = names(maxRefusedSignatures + 1).map(signatureName);
  refused.add(model, tenant, ['hint']);
  for (const signature of signatures) refused.add(model, tenant, [signature]);
  expect([...refused.namesOf(model, tenant)]).toEqual(['hint', ...signatures.slice(1)]);
  refused.add(model, tenant, names(maxRefusedNames));
  expect([...refused.namesOf(model, tenant)]).toEqual([...signatures.slice(1), ...names(maxRefusedNames)]);
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
