import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TransferPreview, WireTransfer } from '@gatehouse/contract/transfers';
import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import { Receiver } from '@gatehouse/test/receiver';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { signed } from '@gatehouse/test/webhook-senders';
import { ChaosSystem, fewConnections } from './chaos-system.ts';

/** Transfers between tenants while a service is killed at each of its steps. */

/** A step is stopped at its commit by the phase in which it runs; those of the tenant service enter the phase. */
const points = {
  memory: ['locking', 'copying', 'committing', 'aborting', 'committing a copy'],
  agent: ['locking', 'closing', 'committing', 'aborting', 'committing a copy'],
  webhook: ['locking', 'closing', 'committing', 'aborting', 'committing a copy'],
  tenant: ['copying', 'closing', 'committing', 'completed', 'committing a copy'],
} as const;
type Killed = keyof typeof points;
type Point = (typeof points)[Killed][number];
/** The phase of a point, and the mode of the transfer that is stopped there. */
const phaseOf = (point: Point) => point.replace(' a copy', '');
type Mode = 'copy' | 'move';
const modeOf = (point: Point): Mode => (point.endsWith('a copy') ? 'copy' : 'move');
/** Whether the commit that the killed process has sent takes place. */
const outcomes = ['committed', 'rolled back'] as const;
/** As many at once as a service has connections for steps. */
const rounds = (Object.keys(points) as Killed[]).flatMap((service) =>
  outcomes.map((outcome) => ({ service, outcome })),
);

const endsWithinMs = 90_000;

let chaos: ChaosSystem;
/** Grounds on which no transfer is under way, as they were before the first. */
const idle: Ground[] = [];
let mcpServer: TestMcpServer;
let receiver: Receiver;
/** Nothing else uses the agents: while this is set, a transfer does not wait for what might. */
let inHurry = false;
const hurrying = new BackgroundLoop(async () => {
  if (inHurry)
    await chaos
      .rows(
        `update tenant.transfers set phase_at = now() - interval '10 s'
         where phase = 'closing' and phase_at > now() - interval '8 s' and phase_at <= now()`,
      )
      .catch(() => undefined);
  return 100;
});

beforeAll(async () => {
  receiver = await Receiver.start();
  mcpServer = await TestMcpServer.start([{ name: 'search', run: () => said('Found.') }]);
  chaos = await ChaosSystem.start({
    ...{ GATEHOUSE_REPLICAS: 'tenant=2', EGRESS_ALLOW: '127.0.0.1', LOG_LEVEL: 'error' },
    ...fewConnections,
  });
  await chaos.rows(`
    create table public.holds (id integer generated always as identity (start 7000001), preview_id uuid, service text, phase text,
      released boolean not null default false);
    -- At the end of a transaction that carries out a step: waits until the test lets it commit.
    create function public.hold() returns trigger language plpgsql security definer as $$
    declare
      held integer;
    begin
      select h.id into held from public.holds as h join tenant.transfers as t on t.preview_id = h.preview_id
      where h.service = tg_table_schema and h.phase = t.phase and t.id = (to_jsonb(new)->>tg_argv[0])::uuid and not released;
      if held is not null then
        -- Shows that it waits.
        perform pg_advisory_xact_lock(held);
        while exists (select from public.holds where id = held and not released) loop
          perform pg_sleep(0.01);
        end loop;
      end if;
      return null;
    end $$;
    create constraint trigger hold after insert or update on memory.transfers deferrable initially deferred
      for each row execute function public.hold('id');
    create constraint trigger hold after insert or update on agent.transfers deferrable initially deferred
      for each row execute function public.hold('id');
    create constraint trigger hold after insert or update on webhook.transfers deferrable initially deferred
      for each row execute function public.hold('id');
    create constraint trigger hold after update of closed on agent.agents deferrable initially deferred
      for each row when (new.closed) execute function public.hold('locked_by');
    create constraint trigger hold after update of closed on webhook.endpoints deferrable initially deferred
      for each row when (new.closed) execute function public.hold('locked_by');
    create constraint trigger hold after update of phase on tenant.transfers deferrable initially deferred
      for each row execute function public.hold('id');`);
  hurrying.start(0);
  idle.push(...(await takeGrounds(points.memory.length)));
});
afterAll(async () => {
  await hurrying.stop();
  await chaos.stop();
  await mcpServer.stop();
  await receiver.stop();
});

async function call<Answered = { id: string }>(key: string, path: string, body?: object, method?: string) {
  const response = await fetch(chaos.credentials.url + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answered };
}

/** Two tenants, and what moves from the first to the second. */
interface Ground {
  source: TenantAccess;
  target: TenantAccess;
  resources: { type: string; id: string }[];
}

async function makeGround(): Promise<Ground> {
  const [source, target] = [await chaos.makeTenant(), await chaos.makeTenant()];
  const make = async (path: string, body: object) => {
    const made = await call<{ id: string; secret: string }>(source.adminKey, path, body);
    expect([path, made.status]).toEqual([path, 201]);
    return made.body;
  };
  const server = await make('/v1/mcp/servers', { name: 'mail', url: mcpServer.url });
  const tools = { mcp_servers: ['mail/search'] };
  const agent = await make('/v1/agents', {
    key: 'clerk',
    model: 'gpt-4.1-mini',
    memory: { enabled: true },
    tools,
  });
  const of = `/v1/agents/${agent.id}`;
  await call(source.adminKey, `${of}/memory/documents/key.md`, { text: 'The key is under the mat.' }, 'PUT');
  const entities = [
    { external_id: 'ann', name: 'Ann', type: 'person' },
    { external_id: 'bob', name: 'Bob', type: 'person' },
  ];
  await call(source.adminKey, `${of}/kg/entities`, { entities });
  const relations = [{ source: 'ann', target: 'bob', type: 'knows' }];
  await call(source.adminKey, `${of}/kg/relations`, { relations });
  const channel = await make('/v1/channels/instances', {
    ...{ name: 'Desk', type: 'generic', agent_id: agent.id, credentials: {} },
    config: { callback_url: receiver.url('/replies') },
  });
  const callback_url = receiver.url('/results');
  const endpoint = await make('/v1/webhooks/endpoints', { name: 'Alerts', agent_id: agent.id, callback_url });
  const send = async (path: string, { secret }: { secret: string }, content: object) => {
    const [id, body] = [newId(), JSON.stringify(content)];
    const headers = signed({ scheme: 'standard', secret }, body, { id });
    const to = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
    expect((await fetch(chaos.credentials.url + path, to)).status).toBe(202);
  };
  const message = { message_id: newId(), conversation_id: 'ann', user: { id: 'ann' }, text: 'Hello.' };
  await send(`/v1/webhooks/message?channel=${channel.id}`, channel, message);
  await send(`/v1/webhooks/llm?endpoint=${endpoint.id}`, endpoint, { input: 'Hello.', mode: 'async' });
  const resources = [
    { type: 'agent', id: agent.id },
    { type: 'mcp_server', id: server.id },
    { type: 'channel_instance', id: channel.id },
    { type: 'webhook_endpoint', id: endpoint.id },
  ];
  return { source, target, resources };
}

/** Idle grounds, or new ones where a round has failed on them. */
async function takeGrounds(count: number): Promise<Ground[]> {
  const taken = idle.splice(0, count);
  const made = await Promise.all(Array.from({ length: count - taken.length }, makeGround));
  if (made.length > 0) await settled();
  return [...taken, ...made];
}

/** Records of what has been done with the rows of a tenant are not part of them. */
const notTransferred =
  /outbox|idempotency|deleted_users|transfers|events|event_marks|minute_counts|^memory\.(agents|tenants|tenant_graphs)$|^agent\.inventories$/;
let tables: string[] = [];

/** How many rows of each table a tenant has. */
async function inventory({ id }: TenantAccess): Promise<Record<string, number>> {
  if (tables.length === 0) {
    const found = await chaos.rows<{ name: string }>(
      `select table_schema || '.' || table_name as name from information_schema.columns join pg_class as c
         on c.oid = to_regclass(table_schema || '.' || table_name) and c.relkind = 'r'
       where table_schema in ('agent', 'memory', 'webhook') and column_name = 'tenant_id' order by 1`,
    );
    tables = found.map(({ name }) => name).filter((name) => !notTransferred.test(name));
  }
  const counts = tables.map(
    (name) => `(select count(*)::integer from ${name} where tenant_id = $1) as "${name}"`,
  );
  const [row] = await chaos.rows<Record<string, number>>(`select ${counts.join(', ')}`, [id]);
  return row ?? {};
}

/** A copied channel has no conversations, a copied endpoint no calls. */
const notCopied = {
  ...{ 'webhook.calls': 0, 'webhook.deliveries': 0, 'webhook.delivery_attempts': 0 },
  ...{ 'webhook.channel_messages': 0, 'webhook.channel_turns': 0, 'webhook.conversations': 0 },
};
const nothing = () => Object.fromEntries(tables.map((name) => [name, 0]));
const path = '/v1/tenant/resource-transfers';

/** Previews a transfer, and returns what begins it. */
async function prepare({ source, target, resources }: Ground, mode: Mode) {
  const owner = chaos.credentials.owner_key;
  const plan = {
    ...{ mode, source_tenant_id: source.id, target_tenant_id: target.id, resources },
    on_conflict: 'rename',
  };
  const { body: preview } = await call<TransferPreview>(owner, `${path}/previews`, plan);
  expect(preview.problems).toEqual([]);
  const begin = async (): Promise<string> => {
    // Its service may have been killed.
    const begun = await eventually(async () => {
      const answer = await call<WireTransfer>(owner, path, { preview_id: preview.id });
      expect(answer.status).toBe(202);
      return answer.body;
    });
    return begun.id;
  };
  return { previewId: preview.id, begin };
}

async function ended(id: string): Promise<string> {
  return eventually(
    async () => {
      const { status, body } = await call<WireTransfer>(chaos.credentials.owner_key, `${path}/${id}`);
      expect([status, body.status]).toEqual([200, expect.stringMatching(/completed|failed/)]);
      return body.status;
    },
    endsWithinMs,
    200,
  );
}

async function untilPhase(id: string, phase: string): Promise<void> {
  await eventually(async () => {
    const [row] = await chaos.rows<{ phase: string }>('select phase from tenant.transfers where id = $1', [
      id,
    ]);
    expect(row?.phase).toBe(phase);
  });
}

/** Nothing of it is locked, closed or hidden any more, and one of the tenants has all of it; of a copy, both. */
async function expectEnd(
  { source, target }: Ground,
  { before, status, mode }: { before: Record<string, number>; status: string; mode: Mode },
): Promise<void> {
  const [has, hasNot] = status === 'completed' && mode === 'move' ? [target, source] : [source, target];
  expect(await inventory(has)).toEqual(before);
  const rest = mode === 'move' ? nothing() : { ...before, ...notCopied };
  await eventually(async () => expect(await inventory(hasNot)).toEqual(rest), 30_000, 200);
  const kept = await chaos.rows(
    `select id from agent.agents where tenant_id = any ($1) and (closed or locked_by is not null or arriving_in is not null)
     union all select id from agent.mcp_servers where tenant_id = any ($1) and (locked_by is not null or arriving_in is not null)
     union all select id from webhook.endpoints where tenant_id = any ($1) and (closed or locked_by is not null)
     union all select id from webhook.channel_instances where tenant_id = any ($1) and (closed or locked_by is not null)
     union all select agent_id from memory.agents where tenant_id = any ($1) and locked_by is not null
     union all select id from tenant.transfers where source_tenant_id = any ($1) and finished_at is null`,
    [[source.id, target.id]],
  );
  expect(kept).toEqual([]);
  const answer = await call(has.userKey, '/v1/chat/completions', {
    ...{ model: 'agent:clerk', messages: [{ role: 'user', content: 'Hello.' }] },
  });
  expect(answer.status).toBe(200);
}

async function kill(service: string): Promise<void> {
  const processes = chaos.local.processes().filter(({ name }) => name.replace(/-\d$/, '') === service);
  expect(processes).not.toEqual([]);
  for (const { name } of processes) chaos.local.signal(name, 'SIGKILL');
  chaos.mark(`killed ${service}`);
  // Its jobs would be taken for lost after 15 s.
  await chaos.rows(
    `update ${service}_jobs.job_common set heartbeat_on = heartbeat_on - interval '15 s' where state = 'active'`,
  );
}

interface Held {
  ground: Ground;
  before: Record<string, number>;
  mode: Mode;
  phase: string;
  begin: () => Promise<string>;
  previewId: string;
}

/** All have been answered, so that nothing changes by itself any more. */
async function settled(): Promise<void> {
  await chaos.within(60_000, 'all are answered', async () => {
    const [open] = await chaos.rows<{ count: number }>(
      `select ((select count(*) from webhook.channel_messages where status in ('received', 'queued'))
         + (select count(*) from webhook.calls where finished_at is null)
         + (select count(*) from webhook.deliveries where status = 'pending'))::integer as count`,
    );
    return open?.count === 0;
  });
}

it.each(rounds)(
  'transfers end wholly and can be done again when $service is killed and its transactions are $outcome',
  ({ service, outcome }) =>
    chaos.explain(async () => {
      const moves: Held[] = [];
      const grounds = await takeGrounds(points[service].length);
      for (const [index, point] of points[service].entries()) {
        const ground = grounds[index];
        if (ground === undefined) throw new Error('there is no ground');
        const how = { mode: modeOf(point), phase: phaseOf(point) };
        const before = await inventory(ground.source);
        moves.push({ ...how, ground, before, ...(await prepare(ground, how.mode)) });
      }
      inHurry = false;
      await holdAll(service, moves);
      const ids = await beginAll(moves);
      const isReached = async (): Promise<boolean> => (await waiting()).length === moves.length;
      await chaos.within(20_000, 'all wait at their commit', isReached);
      await kill(service);
      if (outcome === 'rolled back')
        await chaos.rows('select pg_terminate_backend(pid) from unnest($1::integer[]) as pid', [
          (await waiting()).map(({ pid }) => pid),
        ]);
      await chaos.rows('update public.holds set released = true');
      for (const [index, { ground, before, phase, mode }] of moves.entries()) {
        const status = await ended(ids[index] ?? '');
        chaos.mark(`${phase}: ${status}`);
        expect([phase, status]).toEqual([phase, phase === 'aborting' ? 'failed' : 'completed']);
        await expectEnd(ground, { before, status, mode });
      }
      // Once more: on, or back.
      await Promise.all(
        moves.map(async ({ ground, phase, before, mode }) => {
          const isOver = phase !== 'aborting' && mode === 'move';
          const next = isOver ? { ...ground, source: ground.target, target: ground.source } : ground;
          const status = await ended(await (await prepare(next, mode)).begin());
          expect(status).toBe('completed');
          if (mode === 'move') {
            await expectEnd(next, { before, status, mode });
            idle.push({ ...next, source: next.target, target: next.source });
          } else {
            expect(await inventory(ground.source)).toEqual(before);
            // The target keeps its copies.
            idle.push({ ...ground, target: await chaos.makeTenant() });
          }
        }),
      );
    }),
  120_000,
);

async function holdAll(service: Killed, moves: readonly Held[]): Promise<void> {
  for (const { previewId, phase } of moves)
    await chaos.rows('insert into public.holds (preview_id, service, phase) values ($1, $2, $3)', [
      ...[previewId, service, phase],
    ]);
}

/** Transactions that wait at their commit. */
const waiting = () =>
  chaos.rows<{ pid: number }>(
    `select l.pid from pg_locks as l join public.holds as h on h.id = l.objid
     where l.locktype = 'advisory' and l.granted and not h.released`,
  );

/** Begins moves so that all come to their points at about the same time: a statement may take five seconds. */
async function beginAll(moves: readonly Held[]): Promise<string[]> {
  const isLate = ({ phase, mode }: Held): boolean =>
    mode === 'move' && ['committing', 'aborting', 'completed'].includes(phase);
  const ids = new Map<Held, string>();
  const late = moves.filter(isLate);
  for (const move of late) {
    const id = await move.begin();
    ids.set(move, id);
    await chaos.rows(`update tenant.transfers set phase_at = now() + interval '1 hour' where id = $1`, [id]);
  }
  for (const move of late) {
    const id = ids.get(move) ?? '';
    await untilPhase(id, 'closing');
    await chaos.rows(`update tenant.transfers set phase_at = now() + interval '1 hour' where id = $1`, [id]);
  }
  inHurry = true;
  const early = moves.filter((move) => !isLate(move));
  await Promise.all(early.map(async (move) => ids.set(move, await move.begin())));
  for (const move of late)
    await chaos.rows(
      move.phase === 'aborting'
        ? `update tenant.transfers set phase = 'aborting', error = '{"code": "limit_reached", "message": "Full."}' where id = $1`
        : `update tenant.transfers set phase_at = now() - interval '10 s' where id = $1`,
      [ids.get(move)],
    );
  return moves.map((move) => ids.get(move) ?? '');
}
