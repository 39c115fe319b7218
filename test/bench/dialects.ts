import { dialectNames, type DialectName } from '@gatehouse/contract/dialects';
import { clientDialects } from '../chaos/client-dialect.ts';
import { isGateway, withGateway } from './alone.ts';
import type { Gateway } from './contest.ts';
import { closedLoop, type Target } from './load.ts';
import { cpuMs } from './processes.ts';
import { figure, median, print } from './table.ts';

/**
 * Clients of each dialect with models of each API, in turns: requests a second against those of chat with chat, and the
 * gateway's processor time for a frame of a stream. All services run in one process on a core of their own.
 * BENCH_ROUNDS (3) and BENCH_SECONDS (4) set its length; BENCH_DIALECTS=same leaves out the translated pairs.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 4);
const warmUpSeconds = 10;
const connections = 32;
const framesOfStream = 1_000;
const streamsAtOnce = 4;
const prompt = 'x'.repeat(900);

interface Pair {
  dialect: DialectName;
  api: DialectName;
}

const pairs: Pair[] = dialectNames
  .flatMap((dialect) => dialectNames.map((api) => ({ dialect, api })))
  .filter(({ dialect, api }) => process.env['BENCH_DIALECTS'] !== 'same' || dialect === api);

function targetOf({ target, credentials }: Gateway, { dialect, api }: Pair, stream: boolean): Target {
  const as = clientDialects[dialect];
  const text = stream ? `frames=${framesOfStream} ${prompt}` : prompt;
  const asked = { model: `model-${api}`, stream, text };
  return {
    ...{ name: `${dialect} to ${api}`, url: target.url, path: as.path(asked) },
    headers: as.keyHeader(credentials.user_key),
    // The state of responses is another measure.
    text: JSON.stringify({ ...as.body(asked), ...(dialect === 'responses' && { store: false }) }),
  };
}

function catalogue(url: string): object {
  const provider = { name: 'openai', kind: 'openai', base_url: `${url}/v1` };
  const providers = [
    provider,
    { ...provider, name: 'anthropic', kind: 'anthropic', base_url: url },
    { ...provider, name: 'google', kind: 'google', base_url: url },
  ];
  const providerOf = { chat: 'openai', responses: 'openai', messages: 'anthropic', gemini: 'google' };
  const models = dialectNames.map((api) => ({
    ...{ id: `model-${api}`, provider: providerOf[api], api },
    price: { input_per_mtok: '0.4', output_per_mtok: '1.6' },
  }));
  return { providers, models };
}

async function measure(gateway: Gateway): Promise<void> {
  const cpu = (): number =>
    gateway.processes.filter(({ name }) => isGateway(name)).reduce((sum, { pid }) => sum + cpuMs(pid), 0);
  for (const pair of pairs) {
    await closedLoop(targetOf(gateway, pair, false), connections, warmUpSeconds / 2);
    await closedLoop(targetOf(gateway, pair, true), streamsAtOnce, warmUpSeconds / 2);
  }
  const perSecond = new Map<Pair, number[]>(pairs.map((pair) => [pair, []]));
  const perFrame = new Map<Pair, number[]>(pairs.map((pair) => [pair, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const pair of pairs) {
      const result = await closedLoop(targetOf(gateway, pair, false), connections, seconds);
      perSecond.get(pair)?.push(result.perSecond);
      const before = cpu();
      const { requests } = await closedLoop(targetOf(gateway, pair, true), streamsAtOnce, seconds);
      perFrame.get(pair)?.push(((cpu() - before) * 1_000) / (requests * framesOfStream));
    }
  const [plain = { dialect: 'chat', api: 'chat' } as const] = pairs;
  const base = perSecond.get(plain) ?? [];
  print([
    ['dialect to API', 'requests/s', ': chat to chat', 'µs of CPU a frame'],
    ...pairs.map((pair) => {
      const own = perSecond.get(pair) ?? [];
      const shares = own.map((each, round) => each / (base[round] ?? NaN));
      return [
        `${pair.dialect} to ${pair.api}`,
        figure(median(own), 0),
        figure(median(shares), 2),
        figure(median(perFrame.get(pair) ?? []), 1),
      ];
    }),
  ]);
}

await withGateway(
  {
    provider: 'test/bench/api-provider.ts',
    catalogue,
    load: `${rounds} rounds of ${seconds} s, ${connections} connections, ${streamsAtOnce} streams of ${framesOfStream} frames`,
    sharesOneCore: false,
  },
  measure,
);
