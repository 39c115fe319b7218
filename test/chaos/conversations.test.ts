import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { Random } from '@gatehouse/test/random';
import { callGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { rawKinds } from '../conversations/clients.ts';
import { chargedByGateway, chargedByProvider, type Charged } from '../conversations/ledger.ts';
import { coveringWalks, walkLength } from '../conversations/plan.ts';
import { play, type Conversation } from '../conversations/play.ts';
import { writeCatalogue } from '../conversations/stage.ts';
import { allArrived } from './audit.ts';
import { ChaosSystem, fewConnections } from './chaos-system.ts';
import { KilledLine, moments, type Moment, type Sent } from './killed-line.ts';

/** Conversations that change model and API at every turn, each of which has the gateway killed in one of them. */

const full = process.env['HOSTILE'] === 'full';
const seed = Number(process.env['LEDGER_SEED'] ?? Date.now() % 1_000_000);
const shapes = [
  { name: 'the only process of chat', victim: 'chat-1', settings: {} },
  { name: 'the one process', victim: 'gatehouse-1', settings: { GATEHOUSE_REPLICAS: 'all=1' } },
];

/** Each dialect once, half of them streamed; or each dialect with each moment. */
function conversations(): (Conversation & { moment: Moment })[] {
  const walks = coveringWalks(new Random(seed), 4);
  return moments.flatMap((moment, shift) =>
    rawKinds
      .map((client, index) => {
        const number = (index + shift) % walks.length;
        const stream = (seed + index + shift + (index >> 1)) % 2 > 0;
        return { ...{ seed, number, walk: walks[number] ?? [], client, stream }, moment };
      })
      .filter((_, index) => full || index === shift),
  );
}

interface RunRow extends Omit<Charged, 'pico' | 'requests'> {
  session: string;
  model: string;
  status: string;
  estimated: boolean;
  pico: string;
  calls: number;
}

const runsQuery = `
  select session_id as session, request_model as model, status, usage_estimated as estimated,
    input_tokens::float8 as input, cached_input_tokens::float8 as cached, output_tokens::float8 as output,
    reasoning_tokens::float8 as reasoning, cost_pico::text as pico, json_array_length(spans) as calls
  from analytics.traces where tenant_id = $1`;

let chaos: ChaosSystem;
let folder: string;
afterEach(async () => {
  await chaos.stop();
  await rm(folder, { recursive: true });
});

async function start(settings: Record<string, string>): Promise<TenantAccess> {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-killed-'));
  chaos = await ChaosSystem.start(async (simulator) => ({
    ...{ GATEHOUSE_MODELS: await writeCatalogue(folder, simulator), SIMULATOR_KEY: 'provider-key' },
    ...fewConnections,
    ...settings,
  }));
  chaos.simulator.rules = 'strict';
  return chaos.makeTenant();
}

describe(`the ledger of conversations while the gateway is killed (LEDGER_SEED=${seed})`, () => {
  it.each(shapes)(
    'is the providers’ to the last token and digit after kill -9 of $name',
    async ({ victim, settings }) => {
      const { id, userKey } = await start(settings);
      await chaos.explain(async () => {
        const { simulator, credentials } = chaos;
        const line = new KilledLine(chaos, victim);
        const stage = { url: credentials.url, key: userKey, simulator, fetch: line.fetch };
        const random = new Random(seed);
        const planned = conversations();
        for (const { moment, ...conversation } of planned) {
          const after = random.between(0, walkLength - 1);
          chaos.mark(`a conversation in ${conversation.client.name}, killed ${moment}`, { after });
          line.begin(conversation.client.dialect, { after, moment });
          expect(await play(stage, conversation)).toBeNull();
        }
        expect(line.sent.filter(({ moment }) => moment !== null)).toHaveLength(planned.length);
        await chaos.within(90_000, 'every run has its end and has arrived', () => allArrived(chaos));
        await expectSame(line.sent, id, userKey);
      });
    },
    full ? 1_200_000 : 300_000,
  );
});

/** The runs of a tenant are those of its requests, each once, and its sums are those of the runs. */
async function expectSame(sent: readonly Sent[], tenantId: string, key: string): Promise<void> {
  const rows = await chaos.rows<RunRow>(runsQuery, [tenantId]);
  const bySession = Map.groupBy(rows, ({ session }) => session);
  const called = sent.filter(({ calls }) => calls.length > 0);
  expect(rows).toHaveLength(called.length);
  expect(called.flatMap((each) => complaintsAbout(each, bySession.get(each.session) ?? []))).toEqual([]);
  const cut = rows.filter(({ status }) => status === 'interrupted');
  chaos.mark('compared', { runs: rows.length, interrupted: cut.length });

  const interrupted = new Set(cut.map(({ session }) => session));
  const ended = called.filter(({ session }) => !interrupted.has(session));
  const sums = chargedByProvider(ended.flatMap(({ calls }) => calls));
  for (const { model, input, pico } of cut) {
    const sum = sums.get(model) ?? {
      requests: 0,
      ...{ input: 0, cached: 0, output: 0, reasoning: 0, pico: 0n },
    };
    sums.set(model, { ...sum, input: sum.input + input, pico: sum.pico + BigInt(pico) });
  }
  const { url } = chaos.credentials;
  const gateway = { call: (...call: [string, object?]) => callGateway(url, ...call) };
  await eventually(async () => expect(await chargedByGateway(gateway, key)).toEqual(sums));
}

/** Differences between the runs of a request and its calls of the provider. */
function complaintsAbout({ moment, isWhole, calls, session }: Sent, runs: readonly RunRow[]): string[] {
  const [run] = runs;
  const name = `${session}, killed ${moment ?? 'never'}, ${isWhole ? 'whole' : 'cut'}`;
  if (run === undefined || runs.length > 1) return [`${name}: ${runs.length} runs`];
  if (run.calls !== calls.length) return [`${name}: ${run.calls} attempts of ${calls.length}`];
  const mayBeCut = !isWhole && moment !== null;
  const isExact = run.status === 'ok' && !run.estimated;
  if (isExact && (isWhole || moment === 'after the provider')) {
    const { session: _session, model, status: _status, estimated: _estimated, calls: _calls, ...sums } = run;
    const own = new Map([[model, { requests: 1, ...sums, pico: BigInt(run.pico) }]]);
    const provider = chargedByProvider(calls);
    return isDeepStrictEqual(own, provider) ? [] : [`${name}: ${shown(own)}, not ${shown(provider)}`];
  }
  // The prompt is estimated, at its price; nothing is known of the answer.
  const isEstimate = run.estimated && run.input > 0 && run.output === 0;
  const isPriced = run.pico === String(run.input * 1_000_000);
  return mayBeCut && run.status === 'interrupted' && isEstimate && isPriced
    ? []
    : [`${name}: ${JSON.stringify(run)}`];
}

function shown(sums: ReadonlyMap<string, Charged>): string {
  return JSON.stringify([...sums], (_key, value: unknown) =>
    typeof value === 'bigint' ? `${value}` : value,
  );
}
