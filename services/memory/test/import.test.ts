import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';
import { manyDocuments, MovingClient, type ImportLine } from './moving-client.ts';

let memory: MemoryServiceUnderTest;
let moving: MovingClient;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
  moving = new MovingClient(memory);
});
afterAll(() => memory.stop());

/** Everything of a tenant that is stored, by table. */
async function stored(tenant: TestTenant): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of ['documents', 'chunks', 'postings', 'imports']) {
    const rows = await memory.rows(`select 1 from memory.${table} where tenant_id = $1`, [tenant.id]);
    counts[table] = rows.length;
  }
  return counts;
}

const nothing = { documents: 0, chunks: 0, postings: 0, imports: 0 };

describe('an export', () => {
  it('imported into another agent is the same memory', async () => {
    const [from, to] = [memory.makeTenant(), memory.makeTenant()];
    const source = {
      kind: 'conversation',
      run_id: '0198c2b4-11aa-7c3d-9e5f-7a6b5c4d3e2f',
      session_id: 's-1',
    } as const;
    await memory.put(from, 'plain', 'A plain text about otters.');
    await memory.call('PUT', `${from.base}/memory/documents/rich`, {
      as: from.acting('ann'),
      body: {
        text: '\ufeff# Ünïcode 🦆\r\n\r\n\u2028 "quoted" \\ \u0001',
        title: 'T',
        metadata: { a: [1, { b: null }] },
      },
    });
    const times = { created_at: '2020-01-02T03:04:05.678Z', updated_at: '2021-01-02T03:04:05.678Z' };
    await moving.import(from, [
      { path: 'talk', text: 'A talk about otters.', user_id: 'bob', source, ...times },
      { path: 'bare', text: 'Bare.' },
    ]);
    const exported = await moving.export(from);
    expect(exported.map(({ user_id: user, path }) => [user, path])).toEqual([
      [null, 'bare'],
      [null, 'plain'],
      ['ann', 'rich'],
      ['bob', 'talk'],
    ]);
    expect(exported[0]?.source).toEqual({ kind: 'import', run_id: null, session_id: null });
    expect(exported[3]).toMatchObject({ scope: 'user', source, ...times });
    const answer = await moving.import(
      to,
      exported.map((record) => JSON.stringify(record)),
    );
    expect(answer.counts).toEqual({ documents: 4, chunks: 4, entities: 0, relations: 0 });
    expect(await moving.export(to)).toEqual(exported);
    expect(await memory.pathsFor(to, 'otters', to.acting('bob'))).toEqual(
      await memory.pathsFor(from, 'otters', from.acting('bob')),
    );
  });

  it('has every document of many once, large imports as well as puts, in pages', async () => {
    const tenant = memory.makeTenant();
    const documents = manyDocuments(450);
    expect((await moving.import(tenant, documents)).counts).toMatchObject({ documents: 450 });
    await memory.put(tenant, 'doc/00007', 'Put again.');
    const exported = await moving.export(tenant);
    expect(exported.map(({ path }) => path)).toEqual(documents.map(({ path }) => path));
    expect(exported[7]?.text).toBe('Put again.');
    expect(exported[8]?.text).toBe(documents[8]?.text);
    const stats = await memory.stats(tenant);
    const again = memory.makeTenant();
    await moving.import(
      again,
      exported.map((record) => JSON.stringify(record)),
    );
    expect(await memory.stats(again)).toEqual(stats);
    expect(await moving.export(again)).toEqual(exported);
  });

  it('of nothing is empty, and so is its import', async () => {
    const tenant = memory.makeTenant();
    const response = await moving.openExport(tenant);
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    expect(await response.text()).toBe('');
    expect((await moving.import(tenant, [])).counts).toEqual({
      documents: 0,
      chunks: 0,
      entities: 0,
      relations: 0,
    });
  });
});

describe('an import', () => {
  it.each([
    ['small', 3],
    ['large', 120],
  ])('that is %s replaces documents with the same path and user, and no others', async (_size, count) => {
    const tenant = memory.makeTenant();
    const documents = manyDocuments(count);
    await memory.put(tenant, 'doc/00001', 'Old otters.');
    await memory.put(tenant, 'doc/00001', 'Otters of Ann.', tenant.acting('ann'));
    await memory.put(tenant, 'other', 'Other otters.');
    expect((await moving.import(tenant, documents)).counts?.documents).toBe(count);
    expect(await memory.pathsFor(tenant, 'otters')).toEqual(['other']);
    expect((await memory.get(tenant, 'doc/00001')).body.text).toBe(documents[1]?.text);
    expect((await memory.get(tenant, 'doc/00001', tenant.acting('ann'))).body.text).toBe('Otters of Ann.');
    expect(await memory.stats(tenant)).toMatchObject({ documents: count + 1 });
    expect(await moving.export(tenant)).toHaveLength(count + 2);
    const [use] = await memory.rows('select documents, bytes from memory.tenants where tenant_id = $1', [
      tenant.id,
    ]);
    const [real] = await memory.rows(
      `select count(*) as documents, sum(bytes + extra) as bytes from memory.documents where tenant_id = $1 and text <> 'Old otters.'`,
      [tenant.id],
    );
    expect(use).toEqual(real);
  });

  it('leaves statistics as if every document had been put', async () => {
    const [imported, put] = [memory.makeTenant(), memory.makeTenant()];
    const documents = manyDocuments(120);
    for (const round of ['first', 'second'])
      await moving.import(imported, manyDocuments(120, { about: round }));
    await moving.import(imported, documents);
    await eventually(async () =>
      expect(await stored(imported)).toMatchObject({ documents: 120, imports: 0 }),
    );
    for (const { path, text } of documents) await memory.put(put, path, text);
    const statistics = (tenant: TestTenant) =>
      memory.rows(
        `select sum(documents) as documents, sum(chunks) as chunks, sum(bytes) as bytes, sum(tokens) as tokens,
                (select sum(octet_length(entries)) from memory.postings where tenant_id = $1) as entries
         from memory.scopes where tenant_id = $1`,
        [tenant.id],
      );
    expect(await statistics(imported)).toEqual(await statistics(put));
    const search = async (tenant: TestTenant) =>
      (await memory.search(tenant, { query: 'word17' })).body.results.map(({ path, score }) => [path, score]);
    expect(await search(imported)).toEqual(await search(put));
    expect(
      await memory.rows('select 1 from memory.agents where hidden || replacing <> $1 and tenant_id = $2', [
        [],
        imported.id,
      ]),
    ).toEqual([]);
  });

  it('promotes old generations, so that an agent has few', async () => {
    const tenant = memory.makeTenant();
    for (let round = 0; round < 18; round += 1) {
      const answer = await moving.import(tenant, manyDocuments(51, { prefix: `round${round}` }));
      expect(answer.counts?.documents).toBe(51);
    }
    const [counted] = await memory.rows<{ generations: number }>(
      'select count(distinct generation)::int as generations from memory.scopes where tenant_id = $1 and documents > 0',
      [tenant.id],
    );
    expect(counted?.generations).toBeLessThanOrEqual(17);
    expect(await moving.export(tenant)).toHaveLength(18 * 51);
    expect(await memory.stats(tenant)).toMatchObject({ documents: 18 * 51 });
    const found = await memory.search(tenant, { query: 'word3', limit: 50 });
    expect(new Set(found.body.results.map(({ path }) => path)).size).toBe(18);
  });
});

describe('a line that is not valid', () => {
  const good = { path: 'good', text: 'Good.' };
  const cases: [string, ImportLine, string, string | null][] = [
    ['is not JSON', '{"kind":', 'invalid_json', null],
    ['is no object', '[1]', 'invalid_type', null],
    [
      'is not UTF-8',
      Buffer.from([0x22, 0xff, 0x22]).toString('latin1').replace('ÿ', '\ud800'),
      'invalid_type',
      null,
    ],
    ['has no kind', '{"path":"a","text":"b"}', 'missing_required_parameter', 'kind'],
    ['has an unknown kind', '{"kind":"poem"}', 'invalid_value', 'kind'],
    ['has an unknown field', '{"kind":"document","path":"a","text":"b","id":1}', 'unknown_parameter', 'id'],
    ['has a bad path', { path: 'a//b', text: 'b' }, 'invalid_value', 'path'],
    ['has no text', '{"kind":"document","path":"a"}', 'missing_required_parameter', 'text'],
    ['has too much text', { path: 'a', text: 'ä'.repeat(524_289) }, 'invalid_value', 'text'],
    ['has NUL', { path: 'a', text: 'a\0b' }, 'invalid_value', 'text'],
    [
      'is of a user that it does not name',
      { path: 'a', text: 'b', scope: 'user' },
      'missing_required_parameter',
      'user_id',
    ],
    [
      'is of the agent and a user',
      { path: 'a', text: 'b', scope: 'agent', user_id: 'u' },
      'invalid_value',
      'user_id',
    ],
    [
      'has a bad time',
      '{"kind":"document","path":"a","text":"b","updated_at":"now"}',
      'invalid_value',
      'updated_at',
    ],
    ['is that of an earlier document', good, 'invalid_value', 'path'],
  ];

  it.each(cases)('because it %s is named, and nothing is stored', async (_why, line, code, param) => {
    const tenant = memory.makeTenant();
    const answer = await moving.import(tenant, [good, '', line, { path: 'later', text: 'Later.' }]);
    expect([answer.status, answer.error?.code, answer.error?.param]).toEqual([400, code, param]);
    expect(answer.error?.message).toMatch(/^Line 3: /);
    expect(await stored(tenant)).toEqual(nothing);
  });

  it('after many good ones leaves nothing either', async () => {
    const tenant = memory.makeTenant();
    await memory.put(tenant, 'doc/00001', 'Otters stay.');
    const before = await stored(tenant);
    for (const last of ['{', { path: 'doc/00001', text: 'Twice.' }]) {
      const answer = await moving.import(tenant, [...manyDocuments(150), last]);
      expect([answer.status, answer.error?.message.slice(0, 9)]).toEqual([400, 'Line 151:']);
      expect((await memory.get(tenant, 'doc/00001')).body.text).toBe('Otters stay.');
      expect(await memory.pathsFor(tenant, 'word5 otters')).toEqual(['doc/00001']);
      await eventually(async () => expect(await stored(tenant)).toEqual(before));
    }
  });

  it('is refused when it is too long, before it has all come', async () => {
    const tenant = memory.makeTenant();
    const open = await moving.open(tenant);
    void open.send(['x'.repeat(8 * 1024 * 1024 + 1)]);
    const answer = await open.answer;
    expect([answer.status, answer.error?.message]).toEqual([400, 'Line 1 is longer than 8388608 bytes.']);
    open.abort();
  });
});

describe('the request', () => {
  it('must be JSON lines of at most 64 MiB', async () => {
    const tenant = memory.makeTenant();
    const json = await moving.import(tenant, ['{}'], { headers: { 'content-type': 'application/json' } });
    expect([json.status, json.error?.code]).toEqual([415, 'unsupported_media_type']);
    const typed = { 'content-type': 'Application/X-NDJSON; charset=utf-8' };
    expect((await moving.import(tenant, [], { headers: typed })).status).toBe(200);
    const announced = await moving.open(tenant, {
      headers: { 'content-length': String(64 * 1024 * 1024 + 1) },
    });
    expect((await announced.answer).status).toBe(413);
    announced.abort();
    const open = await moving.open(tenant);
    const [document] = manyDocuments(1);
    void open.send(
      Array.from({ length: 18 }, (_, n) => {
        const line = JSON.stringify({ kind: 'document', ...document, path: String(n) });
        return line + ' '.repeat(4_000_000);
      }),
    );
    const answer = await open.answer;
    expect([answer.status, answer.error?.code]).toEqual([413, 'payload_too_large']);
    open.abort();
    expect(await stored(tenant)).toEqual(nothing);
  });

  it('needs both scopes, whatever it moves', async () => {
    const tenant = memory.makeTenant();
    const scopes = (...granted: string[]) => ({ ...tenant.admin, scopes: granted }) as typeof tenant.admin;
    const cases = [
      [tenant.user, 403, 403],
      [tenant.acting('ann'), 403, 403],
      [scopes('memory.read', 'agents.write'), 403, 200],
      [scopes('memory.write'), 403, 403],
      [scopes('agents.write'), 403, 403],
      [scopes('memory.write', 'agents.write'), 200, 200],
    ] as const;
    for (const [as, importing, exporting] of cases) {
      const answer = await moving.import(tenant, [{ path: 'a', text: 'b' }], { as });
      const response = await moving.openExport(tenant, as);
      await response.text();
      expect([answer.status, response.status]).toEqual([importing, exporting]);
      if (importing === 403) expect(answer.error?.code).toBe('scope_missing');
    }
    const stranger = memory.makeTenant();
    const foreign = { ...tenant, admin: stranger.admin };
    expect((await moving.import(foreign, [{ path: 'a', text: 'b' }])).status).toBe(404);
    expect((await moving.openExport(foreign)).status).toBe(404);
  });

  it('with an acting user moves what is theirs alone', async () => {
    const tenant = memory.makeTenant();
    const ann = { ...tenant.admin, userId: 'ann' };
    await moving.import(tenant, [
      { path: 'a', text: 'Of the agent.' },
      { path: 'a', text: 'Of Ann.', user_id: 'ann' },
      { path: 'a', text: 'Of Bob.', user_id: 'bob' },
    ]);
    expect((await moving.export(tenant, ann)).map(({ text }) => text)).toEqual(['Of the agent.', 'Of Ann.']);
    for (const other of [{ user_id: 'bob' }, { scope: 'agent' as const }, {}]) {
      const answer = await moving.import(tenant, [{ path: 'a', text: 'Mine.', ...other }], { as: ann });
      expect([answer.status, answer.error?.code]).toEqual([403, 'user_mismatch']);
    }
    const own = [{ path: 'a', text: 'Mine.', scope: 'user' as const }];
    expect((await moving.import(tenant, own, { as: ann })).status).toBe(200);
    expect((await moving.export(tenant)).map(({ text }) => text)).toEqual([
      'Of the agent.',
      'Mine.',
      'Of Bob.',
    ]);
  });

  it('stores documents under the ids of users, whatever names lines have', async () => {
    const tenant = memory.makeTenant();
    for (const [name, userId] of [['a@x', 'ann'] as const, ['b@x', 'bob'] as const])
      memory.tenant.users.set(`${tenant.id} ${name}`, { userId, blocked: false });
    const lines = ['A@x', 'a@X', 'b@x', 'new'].map((user_id, n) => ({ path: `${n}`, text: 'T', user_id }));
    const as = { ...tenant.admin, hasUsers: true } as const;
    expect((await moving.import(tenant, lines, { as })).status).toBe(200);
    const users = async () => (await moving.export(tenant)).map(({ user_id: user }) => user);
    expect(await users()).toEqual(['ann', 'ann', 'bob', 'new']);
    const ann = { ...as, userId: 'ann' };
    expect((await moving.import(tenant, lines.slice(0, 2), { as: ann })).status).toBe(200);
    expect((await moving.import(tenant, lines, { as: ann })).error?.code).toBe('user_mismatch');
  });

  it('is recorded in the audit log, with counts alone', async () => {
    const tenant = memory.makeTenant();
    await moving.import(tenant, [{ path: 'secret-path', text: 'Secret.' }]);
    const entries = () => memory.tenant.entries.filter(({ tenant_id: id }) => id === tenant.id);
    await eventually(() =>
      expect(entries()).toMatchObject([
        {
          action: 'memory.imported',
          resource: { type: 'memory', id: tenant.agentId },
          after: { documents: 1 },
        },
      ]),
    );
    expect(JSON.stringify(entries()).toLowerCase()).not.toContain('secret');
  });
});
