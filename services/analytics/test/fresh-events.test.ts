import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunEnded } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import { userDigest } from '@gatehouse/kit/user-digest';
import { only } from '@gatehouse/pg/rows';
import { Client } from 'pg';
import { readEvents } from '../src/ingest/read-events.ts';
import { makeCall, makeEnd, makeStart, received, receivedObject } from './event-fixture.ts';
import { startIngest, type IngestFixture } from './ingest-fixture.ts';

describe('reading events', () => {
  it.each([makeStart(), makeEnd()])('has the same run of an event just written in this process', (run) => {
    const event = received(run);
    const [{ run: checked } = {}] = readEvents([event]).runs;
    const [{ run: unchecked } = {}] = readEvents([{ ...event, isChecked: true }]).runs;
    expect(checked).toEqual(run);
    expect(unchecked).toEqual(checked);
  });

  it('checks the shapes of all others', () => {
    const event = received({ ...makeEnd(), run_id: 'no UUID' });
    expect(readEvents([event]).rejected).toHaveLength(1);
    expect(readEvents([{ ...event, isChecked: false }]).rejected).toHaveLength(1);
    expect(readEvents([{ ...event, isChecked: true }]).rejected).toEqual([]);
  });
});

describe('ends that arrive as objects', () => {
  let fixture: IngestFixture;
  let admin: Client;
  beforeAll(async () => {
    fixture = await startIngest();
    admin = new Client({ connectionString: fixture.database.adminUrl });
    await admin.connect();
  });
  afterAll(async () => {
    await admin.end();
    await fixture.stop();
  });

  async function rowOf({ run_id: runId }: RunEnded): Promise<object> {
    const { rows } = await fixture.writing.query<Record<string, unknown>>(
      'select * from analytics.traces where id = $1',
      [runId],
    );
    const { id, fold, change_transaction, change_number, changed_at, ...stored } = only({ rows });
    expect([id, fold, change_transaction, change_number, changed_at]).not.toContain(undefined);
    return stored;
  }

  async function lettersOf(origin: string): Promise<object[]> {
    const { rows } = await admin.query<{ reason: string; payload: Buffer }>(
      'select reason, payload from analytics.dead_letters where origin = $1 order by reason',
      [origin],
    );
    return rows.map(({ reason, payload }) => ({ reason, run: JSON.parse(payload.toString()) as unknown }));
  }

  it('are stored in the same rows as those that arrive as texts, and none is written to', async () => {
    const recall = { outcome: 'ok', mode: 'hybrid', passages: 3, offset_ms: 1, duration_ms: 2 } as const;
    const tool = {
      name: 's__search',
      server: 's',
      tool: 'search',
      outcome: 'ok',
      offset_ms: 0,
      duration_ms: 2,
    };
    const texts = ['plain', '\ud800 alone', '\udc00', '🙂\u2028\u0001"\\u0000', 'x'.repeat(10_000), ''];
    const ends = texts.flatMap((text) => {
      const chosen = { client: text, user_id: text.slice(0, 255), session_id: text.slice(0, 255) };
      const previews = { input_preview: text, output_preview: text, error_message: text.slice(0, 2_000) };
      const call = makeCall({ upstream_model: text.slice(0, 256), cost_pico: null });
      const end = makeEnd({ ...chosen, ...previews, spans: [call], priced: false, status: 'error' });
      const extras = { recall: { id: newId(), ...recall }, tools: [{ id: newId(), ...tool }] };
      return [
        end,
        {
          ...end,
          ...extras,
          run_id: newId(),
          tool_calls: 1,
          own_key: true,
          agent_id: newId(),
          dialect: null,
        },
      ];
    });
    const copies = ends.map((end) => ({ ...end, run_id: newId() }));
    const before = structuredClone(copies);
    await fixture.ingest.take(ends.map((end) => ({ ...received(end), isChecked: true })));
    await fixture.ingest.take(copies.map((end) => receivedObject(end)));
    expect(copies).toEqual(before);
    for (const [at, end] of ends.entries()) {
      const stored = await rowOf(end);
      expect(stored).toMatchObject({ status: 'error', request_model: 'small' });
      const copy = copies[at];
      expect(copy && (await rowOf(copy))).toEqual(stored);
    }
  });

  it('lose a user that was forgotten meanwhile, in the row alone', async () => {
    const end = makeEnd({ user_id: 'ada', input_preview: 'the question', output_preview: 'the answer' });
    await fixture.writing.query(
      'insert into analytics.forgotten_users (tenant_id, user_digest, requested_at) values ($1, $2, now())',
      [end.tenant_id, userDigest(end.tenant_id, 'ada')],
    );
    await fixture.ingest.take([receivedObject(end)]);
    expect(await rowOf(end)).toMatchObject({ user_id: null, input_preview: null, output_preview: null });
    expect(end).toMatchObject({ user_id: 'ada', output_preview: 'the answer' });
  });

  it('become the dead letters that texts become', async () => {
    const refused = makeEnd({ session_id: 'nul \u0000' });
    const late = makeEnd({ run_id: '00000000-0001-7000-8000-000000000000' });
    const [texts, objects] = [`texts/${newId()}`, `objects/${newId()}`];
    const good = makeEnd();
    await fixture.ingest.take([refused, late].map((end) => ({ ...received(end, texts), isChecked: true })));
    await fixture.ingest.take([refused, late, good].map((end) => receivedObject(end, objects)));
    const letters = await lettersOf(texts);
    expect(letters).toHaveLength(2);
    expect(await lettersOf(objects)).toEqual(letters);
    expect(await rowOf(good)).toMatchObject({ status: 'ok' });
  });
});
