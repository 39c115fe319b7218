import { costSummary, usageSummary } from '@gatehouse/contract/usage';
import type { SimulatorRequest } from '@gatehouse/test/provider-simulator/records';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import { places } from './plan.ts';

/** Prices of each model of conversations, in USD per million tokens. */
export const price = {
  ...{ input_per_mtok: '1', cached_input_per_mtok: '0.1', output_per_mtok: '10' },
  cache_write_per_mtok: '1.25',
};

/** Tokens of a model's requests, and their cost in pico-USD. */
export interface Charged {
  requests: number;
  input: number;
  cached: number;
  output: number;
  reasoning: number;
  pico: bigint;
}

/** By model: the sums that the provider charges. */
export function chargedByProvider(requests: readonly SimulatorRequest[]): Map<string, Charged> {
  const sums = new Map<string, Charged>();
  for (const { model: upstream, usage } of requests) {
    const model = places.find((each) => each.upstream === upstream)?.model ?? upstream ?? '';
    if (usage === null || !('completion_tokens' in usage)) continue;
    const sum = sums.get(model) ?? { requests: 0, input: 0, cached: 0, output: 0, reasoning: 0, pico: 0n };
    const { cached_tokens: cached, ...others } = usage.prompt_tokens_details;
    const written = 'cache_write_tokens' in others ? others.cache_write_tokens : 0;
    sum.requests += 1;
    sum.input += usage.prompt_tokens;
    sum.cached += cached;
    sum.output += usage.completion_tokens;
    sum.reasoning += usage.completion_tokens_details.reasoning_tokens;
    sum.pico += costOf({ input: usage.prompt_tokens, cached, written, output: usage.completion_tokens });
    sums.set(model, sum);
  }
  return sums;
}

function costOf({
  input,
  cached,
  written,
  output,
}: Record<'input' | 'cached' | 'written' | 'output', number>): bigint {
  const plain = BigInt(input - cached - written) * 1_000_000n;
  return plain + BigInt(cached) * 100_000n + BigInt(written) * 1_250_000n + BigInt(output) * 10_000_000n;
}

/** By model: the sums that the gateway shows a tenant. */
export async function chargedByGateway(
  gateway: Pick<SomeGateway, 'call'>,
  key: string,
): Promise<Map<string, Charged>> {
  const get = async (route: string): Promise<unknown> => (await gateway.call(route, { key })).body;
  const usage = usageSummary.parse(await get('/v1/usage/summary?group_by=model'));
  const costs = costSummary.parse(await get('/v1/costs/summary?group_by=model'));
  const picos = new Map(costs.groups.map((each) => [each.key.model, picoOf(each.total_usd)]));
  return new Map(
    usage.groups.map(({ key: { model }, requests: runs, errors, ...sums }) => {
      const { input_tokens: input, cached_input_tokens: cached } = sums;
      const { output_tokens: output, reasoning_tokens: reasoning } = sums;
      const pico = picos.get(model) ?? 0n;
      return [model ?? '', { requests: runs - errors, input, cached, output, reasoning, pico }];
    }),
  );
}

/** An amount in USD, to its last digit. */
function picoOf(usd: string): bigint {
  const [whole = '', fraction = ''] = usd.split('.');
  return BigInt(whole + fraction.padEnd(12, '0'));
}
