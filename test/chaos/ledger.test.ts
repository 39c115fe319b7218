import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dialectNames } from '@gatehouse/contract/dialects';
import { costSummary, usageSummary } from '@gatehouse/contract/usage';
import { sleep } from '@gatehouse/kit/clock';
import { eventually } from '@gatehouse/test/eventually';
import { withoutKafka } from '@gatehouse/test/kafka';
import type { Usage } from '@gatehouse/test/provider-simulator/chat-answer';
import type { LedgerRow } from '@gatehouse/test/provider-simulator/records';
import { auditRuns, allArrived } from './audit.ts';
import type { ChaosSystem } from './chaos-system.ts';
import { Follower } from './follower.ts';
import { GatewayClient, type CompletionCall, type Outcome } from './gateway-client.ts';
import { killOne } from './killing.ts';
import { Random } from '@gatehouse/test/random';
import { UsageSystem } from './usage-system.ts';

/** At least: requests go on until everything was killed. */
const runs = Number(process.env['LEDGER_RUNS'] ?? 600);
/** Between two requests of a client. Requests take longer, so that each kill meets many. */
const paceMs = 1_000;
const clients = 36;
const seed = Number(process.env['LEDGER_SEED'] ?? Date.now() % 1_000_000);
const victims = ['chat-1', 'chat-2', 'analytics-1', 'analytics-2', 'kafka'];
/** Pico-USD per token in deploy/local/models.yaml: input, cached input, output. */
const prices: Record<string, [bigint, bigint, bigint]> = {
  'gpt-4.1-mini': [400_000n, 100_000n, 1_600_000n],
  'gpt-4.1': [2_000_000n, 500_000n, 8_000_000n],
  'gpt-5.4-nano': [200_000n, 20_000n, 1_250_000n],
  'claude-sonnet-5-5': [2_000_000n, 200_000n, 10_000_000n],
  'gemini-3.8-flash': [500_000n, 50_000n, 3_000_000n],
};
/** One of each API. */
const models = ['gpt-4.1-mini', 'gpt-5.4-nano', 'claude-sonnet-5-5', 'gemini-3.8-flash'];

const obstacle = await withoutKafka();
const describeKafka = obstacle === undefined ? describe : describe.skip;

/** How providers write their answers that are not OpenAI. */
const oddities = [
  { usage_in_choice: true },
  { zeros_last: true },
  { empty_finish_reasons: true, comments: true },
  { other_kind: true },
  { other_kind: true, wrong_content_type: true },
  { wrong_content_type: true, crlf: true },
  { usage_in_last_choice_chunk: true, end_without_done: true, split_utf8: true },
];

interface RunRow {
  id: string;
  tenant_id: string;
  session_id: string;
  dialect: string;
  request_model: string;
  status: string;
  usage_estimated: boolean;
  input_tokens: number;
  output_tokens: number;
  cost_pico: string | null;
  called: boolean;
}

type Made = Outcome & { client: GatewayClient; call: CompletionCall };

describeKafka(`the ledger with Kafka${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`, () => {
  const random = new Random(seed);
  let system: UsageSystem;
  let chaos: ChaosSystem;
  let tenants: { id: string; key: string; client: GatewayClient }[];
  beforeAll(async () => {
    system = await UsageSystem.start({ KAFKA: '1', GATEHOUSE_REPLICAS: 'chat=2,analytics=2' });
    chaos = system.chaos;
    const { url, tenant_id: id, user_key: key } = chaos.credentials;
    const others = [await chaos.makeTenant(), await chaos.makeTenant()];
    const made = [{ id, key }, ...others.map((tenant) => ({ id: tenant.id, key: tenant.userKey }))];
    tenants = made.map((tenant) => ({ ...tenant, client: new GatewayClient(url, tenant.key) }));
  });
  const stops: (() => Promise<void>)[] = [];
  afterAll(async () => {
    await Promise.all(stops.map((stop) => stop()));
    for (const { client } of tenants) client.close();
    await system.stop();
  }, 60_000);

  it('loses no run and delays no tenant after Kafka was paused for 10 s', async () => {
    const messages = [{ role: 'user', content: 'What happens when things break? '.repeat(20) }];
    await chaos.explain(() => system.expectNothingLostWhilePaused('kafka', { fields: { messages } }));
  }, 120_000);

  /** Calls that a client of any dialect may make to a model of any API, as often as they stand here. */
  const common: (() => CompletionCall)[] = [
    () => ({}),
    () => ({ provider: { delay_ms: random.between(0, 4_000) } }),
    () => ({ stream: true, provider: { chunks: random.between(1, 30), chunk_delay_ms: 300 } }),
    () => ({ stream: true, provider: { chunks: 20, chunk_delay_ms: 200, cut: 'mid_stream' } }),
    () => ({
      stream: true,
      provider: { chunks: 40, chunk_delay_ms: 200 },
      timeoutMs: random.between(50, 4_000),
    }),
    () => ({ provider: { delay_ms: 5_000 }, timeoutMs: random.between(50, 4_000) }),
    () => ({ provider: { attempts: [{ status: 500 }, {}] } }),
  ];

  /** Calls of chat completions to a model that has fallbacks, or with odd answers that OpenAI's format allows. */
  const ofChat: (() => CompletionCall)[] = [
    () => ({ model: 'gpt-4.1', provider: { models: { 'gpt-4.1': { status: 503 } } } }),
    () => ({ model: 'gpt-4.1', stream: true }),
    () => ({ stream: true, provider: { chunks: 5, ...random.pick(oddities) } }),
    () => ({ provider: { content: 'Hello there.', ...random.pick(oddities) } }),
  ];

  function nextCall(): CompletionCall {
    if (random.between(1, 4) === 1) return random.pick(ofChat)();
    return { dialect: random.pick(dialectNames), model: random.pick(models), ...random.pick(common)() };
  }

  async function work(state: { left: number; killing: boolean }, outcomes: Made[]): Promise<void> {
    while (state.left > 0 || state.killing) {
      state.left -= 1;
      const { client } = random.pick(tenants);
      const user = random.pick(['ann', 'bob', 'eve', null]);
      const call = { ...nextCall(), ...(user === null ? {} : { user }) };
      const outcome = await client.complete(call);
      outcomes.push({ ...outcome, client, call });
      await sleep(paceMs);
    }
  }

  async function killAll(state: { left: number; killing: boolean }): Promise<void> {
    for (const victim of random.shuffle(victims)) {
      const pauseMs = random.between(500, 2_500);
      await sleep(pauseMs);
      chaos.mark('the next kill', { left: state.left });
      await killOne(chaos, victim);
    }
    state.killing = false;
  }

  it(
    `is right to the last digit while everything is killed in turn (LEDGER_SEED=${seed})`,
    () =>
      chaos.explain(async () => {
        const followers = tenants.map(({ key }) => new Follower(chaos.credentials.url, key));
        for (const follower of followers) follower.start();
        stops.push(...followers.map((follower) => () => follower.stop()));
        const state = { left: runs, killing: true };
        const outcomes: Made[] = [];
        await Promise.all([killAll(state), ...Array.from({ length: clients }, () => work(state, outcomes))]);
        chaos.mark(
          'all requests are done',
          countBy(outcomes, ({ ending, errorCode }) => errorCode ?? ending),
        );
        await chaos.within(90_000, 'every run has its end and has arrived', () => allArrived(chaos));

        await expectKept(outcomes);
        const audit = await auditRuns(chaos);
        chaos.mark('audit', { ...audit, complaints: audit.complaints.length });
        expect(audit.complaints).toEqual([]);

        const rows = await chaos.rows<RunRow>(
          `select id, tenant_id, session_id, dialect, request_model, status, usage_estimated, input_tokens::float8 as input_tokens,
                  output_tokens::float8 as output_tokens, cost_pico::text,
                  exists (select from json_array_elements(spans) s where s ->> 'status' <> 'not_sent') as called
           from analytics.traces where session_id is not null`,
        );
        const calls = Map.groupBy(chaos.simulator.ledger().requests, ({ id }) => id ?? '');
        expect(rows.flatMap((row) => complaintsAbout(row, calls.get(row.session_id) ?? []))).toEqual([]);

        const pairs = new Set(
          rows.filter(({ status }) => status === 'ok').map((row) => `${row.dialect} ${row.request_model}`),
        );
        chaos.mark('answered', [...pairs]);
        expect([...pairs]).toEqual(
          expect.arrayContaining(
            dialectNames.flatMap((dialect) => models.map((model) => `${dialect} ${model}`)),
          ),
        );

        for (const [index, { id, key }] of tenants.entries()) {
          const own = rows.filter((row) => row.tenant_id === id);
          await checkSummaries(
            key,
            own.filter(({ called }) => called),
          );
          const follower = followers[index];
          const missed = (): RunRow[] =>
            own.filter((row) => follower?.latest.get(row.id)?.status !== row.status);
          await eventually(() => expect(missed()).toEqual([]));
          expect(follower?.complaints).toEqual([]);
        }
      }, 380_000),
    400_000,
  );

  /** Every response that a client has seen complete can be read, whatever was killed since. */
  async function expectKept(outcomes: readonly Made[]): Promise<void> {
    const kept = outcomes.filter(({ responseId }) => responseId !== null);
    chaos.mark('kept responses', { count: kept.length });
    expect(kept.length).toBeGreaterThan(0);
    for (const { client, call, responseId } of kept)
      expect(await client.status(`/v1/responses/${responseId ?? ''}`, call)).toBe(200);
  }

  /** The summaries of a tenant are the sums of its runs, of those for which a provider was called. */
  async function checkSummaries(key: string, own: readonly RunRow[]): Promise<void> {
    const get = async (path: string): Promise<unknown> => {
      const response = await fetch(`${chaos.credentials.url}${path}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      return response.json();
    };
    const usage = usageSummary.parse(await get('/v1/usage/summary?group_by=model,user,hour'));
    const sum = (of: (row: RunRow) => number): number => own.reduce((total, row) => total + of(row), 0);
    expect(usage.totals).toMatchObject({
      requests: own.length,
      errors: own.filter(({ status }) => ['error', 'interrupted'].includes(status)).length,
      cancelled: own.filter(({ status }) => status === 'cancelled').length,
      input_tokens: sum((row) => row.input_tokens),
      output_tokens: sum((row) => row.output_tokens),
    });
    expect(usage.groups.reduce((total, group) => total + group.requests, 0)).toBe(own.length);
    const costs = costSummary.parse(await get('/v1/costs/summary'));
    const pico = own.reduce((total, row) => total + BigInt(row.cost_pico ?? 0), 0n);
    expect(BigInt(costs.total_usd.replace('.', ''))).toBe(pico);
    expect(costs.estimated.requests).toBe(own.filter((row) => row.usage_estimated).length);
  }
});

/** Differences between a run and the provider's charges for its calls. */
function complaintsAbout(row: RunRow, calls: readonly LedgerRow[]): string[] {
  const charged = calls.filter(({ usage }) => usage !== null);
  const delivered = charged.filter((call) => call.usage_delivered);
  // A killed replica may have received the usage without storing it.
  if (row.status === 'interrupted')
    return row.usage_estimated ? [] : [`${row.id} is interrupted, not estimated`];
  if (delivered.length < charged.length || row.usage_estimated) return [];
  const input = delivered.reduce((sum, { usage }) => sum + (usage?.prompt_tokens ?? 0), 0);
  const output = delivered.reduce(
    (sum, { usage }) => sum + ((usage as Usage | null)?.completion_tokens ?? 0),
    0,
  );
  const cost = delivered.reduce((sum, call) => sum + costOf(call), 0n);
  const found: string[] = [];
  if (row.input_tokens !== input || row.output_tokens !== output)
    found.push(`${row.input_tokens} + ${row.output_tokens} tokens, not ${input} + ${output}`);
  if (row.cost_pico !== String(cost)) found.push(`costs ${row.cost_pico ?? 'nothing known'}, not ${cost}`);
  return found.map((what) => `${row.id} (${row.status}): ${what}`);
}

function costOf({ model, usage }: LedgerRow): bigint {
  const [input, cached, output] = prices[model ?? ''] ?? [0n, 0n, 0n];
  // No client requests embeddings here.
  const said = usage as Usage;
  const read = BigInt(said.prompt_tokens_details.cached_tokens);
  return (
    (BigInt(said.prompt_tokens) - read) * input + read * cached + BigInt(said.completion_tokens) * output
  );
}

function countBy<Item>(items: readonly Item[], key: (item: Item) => string): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(items, key)].map(([name, group]) => [name, group.length]));
}
