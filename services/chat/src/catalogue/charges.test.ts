import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { feeToolsIn } from '@gatehouse/dialects/usage/fee-tools';
import { chargeFor } from '../runs/charge.ts';
import {
  billedTools,
  inputClasses,
  noUsage,
  tokenClasses,
  type UsageParts,
} from '@gatehouse/dialects/usage/usage';
import { Catalogue, type Model } from './catalogue.ts';
import { Pricing } from './pricing.ts';

const catalogue = Catalogue.parse({
  providers: [{ name: 'local', kind: 'openai', base_url: 'http://localhost/v1' }],
  models: [
    { id: 'text', provider: 'local', price: { input_per_mtok: '1', output_per_mtok: '2' } },
    { id: 'none', provider: 'local' },
  ],
});
const pricing = new Pricing(catalogue, null);
const model = catalogue.models.get('text') as Model;
const at = new Date();
const tiers = [null, 'priority', 'flex', 'odd-tier'];

it.each(tokenClasses.flatMap((name) => tiers.map((tier) => [name, tier] as const)))(
  'a budget is charged for %s in the tier %s, and no request for them is refused',
  (name, serviceTier) => {
    const parts = Object.fromEntries(
      tokenClasses.map((each) => [each, each === name ? 1_000 : 0]),
    ) as UsageParts;
    const isInput = inputClasses.some((each) => each === name);
    const [inputTokens, outputTokens] = isInput ? [1_000, 0] : [0, 1_000];
    const usage = { ...noUsage, inputTokens, outputTokens, parts };
    const charge = pricing.chargeOf(model, usage, { at, serviceTier });
    expect(charge).toBeGreaterThan(0n);
    const most = pricing.mostCost(
      model,
      { input: inputTokens, output: outputTokens, classes: [name], serviceTier },
      at,
    );
    expect(most).toBeGreaterThan(0n);
  },
);

it.each(billedTools)(
  'a budget is charged at least the reservation for a call of %s, which has no price',
  (tool) => {
    const usage = { ...noUsage, inputTokens: 10, outputTokens: 10, toolCalls: { [tool]: 3 } };
    expect(pricing.costOf(model, usage, { at, serviceTier: null })).toBeNull();
    const known = pricing.chargeOf(model, usage, { at, serviceTier: null });
    expect(known).toBeGreaterThanOrEqual(20n * 2_000_000n);
    expect(chargeFor({ cost: null, known }, 10n ** 12n)).toBe(10n ** 12n);
  },
);

it('reserves calls of tools that have a price, as many as the request allows or five, and names the others', () => {
  const priced = Catalogue.parse({
    providers: [{ name: 'local', kind: 'openai', base_url: 'http://localhost/v1' }],
    models: [
      {
        ...{ id: 'searcher', provider: 'local' },
        price: { input_per_mtok: '1', output_per_mtok: '2', per_tool_call: { web_search: '0.01' } },
      },
    ],
  });
  const searcher = priced.models.get('searcher') as Model;
  const own = new Pricing(priced, null);
  const most = (tools: object[]) => {
    const feeTools = feeToolsIn(tools, { counted: 'never' });
    const bounds = { input: 10, output: 10, classes: [], serviceTier: null };
    const without = own.mostCost(searcher, bounds, at) ?? 0n;
    const unpriced = own.unpricedTools(searcher, feeTools, at).map(({ type }) => type);
    return { pico: (own.mostCost(searcher, { ...bounds, feeTools }, at) ?? 0n) - without, unpriced };
  };
  const pico = 10n ** 10n;
  expect(most([{ type: 'web_search_preview' }])).toEqual({ pico: 5n * pico, unpriced: [] });
  expect(most([{ type: 'web_search_20250305', max_uses: 2 }])).toEqual({ pico: 2n * pico, unpriced: [] });
  expect(most([{ type: 'function' }, { type: 'web_fetch_20250910' }, { type: 'mcp' }, {}])).toEqual({
    ...{ pico: 0n, unpriced: [] },
  });
  expect(most([{ type: 'file_search' }, { type: 'web_search' }, { type: 'googleMaps' }])).toEqual({
    ...{ pico: 5n * pico, unpriced: ['file_search', 'googleMaps'] },
  });
});

it('the charge of a call without a price is never less than what its tokens cost at any known rate', () => {
  fc.assert(
    fc.property(fc.nat(1e9), fc.nat(1e9), fc.constantFrom(...tiers), (input, output, serviceTier) => {
      fc.pre(input + output > 0);
      const usage = { ...noUsage, inputTokens: input, outputTokens: output };
      const charge = pricing.chargeOf(model, usage, { at, serviceTier });
      expect(charge).toBeGreaterThanOrEqual(BigInt(input) * 1_000_000n + BigInt(output) * 2_000_000n);
    }),
  );
});

it('a model without any price is still refused where a budget is set', () => {
  const bounds = { input: 1, output: 1, classes: [], serviceTier: null };
  expect(pricing.mostCost(catalogue.models.get('none') as Model, bounds, at)).toBeNull();
});
