import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { RunEnded } from '@gatehouse/events/run-event';
import { newId } from '@gatehouse/kit/ids';
import { only } from '@gatehouse/pg/rows';
import { correction, makeCall, makeEnd, makeStart, received } from './event-fixture.ts';
import { startIngest, type IngestFixture } from './ingest-fixture.ts';

let fixture: IngestFixture;
beforeAll(async () => {
  fixture = await startIngest();
});
afterAll(() => fixture.stop());

/** Texts that mean something in an array, in a copy or in JSON. */
const odd = [
  'NULL',
  '',
  '{a,b}',
  ',',
  '"',
  '\\',
  '\\"',
  '\\N',
  "'",
  ' ',
  '\u0001\t\r\n',
  '\u2028\ufeff🙂',
  '\ud800',
];

/** The end of a run with this text wherever a client or a provider chooses one, beside a call without a price. */
function endWith(text: string, fields: Partial<RunEnded> = {}): RunEnded {
  const chosen = { request_model: text, provider: text, response_model: text, error_message: text };
  const optional = { client: text, user_id: text, session_id: text, input_preview: text };
  const spans = [makeCall({ model: text, cost_pico: null })];
  return makeEnd({ ...chosen, ...optional, output_preview: text, priced: false, spans, ...fields });
}

interface Stored {
  texts: string[];
  unpriced: string[];
  spans: { model: string }[];
}

async function stored(id: string): Promise<Stored> {
  const result = await fixture.writing.query<Stored>(
    `select array[request_model, provider, response_model, error_message, client, user_id, session_id, input_preview,
              output_preview] as texts, unpriced_models as unpriced, spans
     from analytics.traces where id = $1`,
    [id],
  );
  return only(result);
}

it('stores texts as they are, of ends and of corrections, beside starts without any', async () => {
  const ends = odd.map((text) => endWith(text));
  const corrected = odd.map((text) => endWith(text, { usage_estimated: true }));
  const starts = odd.map(() => makeStart());
  await fixture.ingest.take(
    [...ends, ...corrected].flatMap((end, at) => [
      ...starts.slice(at, at + 1).map((start) => received(start)),
      received(end),
    ]),
  );
  await fixture.ingest.take(corrected.map((end) => correction({ ...end, usage_estimated: false })));
  for (const runs of [ends, corrected])
    for (const [at, { run_id: id }] of runs.entries()) {
      const text = odd[at]?.toWellFormed() ?? '';
      expect(await stored(id)).toMatchObject({
        texts: Array(9).fill(text),
        unpriced: [text],
        spans: [{ model: odd[at] }],
      });
    }
  const { rows } = await fixture.writing.query(
    'select status, client from analytics.traces where id = any ($1)',
    [starts.map(({ run_id: id }) => id)],
  );
  expect(rows).toEqual(Array(odd.length).fill({ status: 'running', client: 'other' }));
});

it('stores events of a release without the newest fields, and ids in upper case, in one batch', async () => {
  const { dialect: _dialect, client: _client, ...older } = makeEnd();
  const upper = makeEnd({ run_id: newId().toUpperCase(), cost_pico: '9'.repeat(30), duration_ms: 1e12 });
  await fixture.ingest.take([received(older), received(upper), received(makeStart())]);
  const { rows } = await fixture.writing.query(
    `select client, cost_pico, duration_ms, own_key from analytics.traces where id = any ($1)
     order by client nulls first`,
    [[older.run_id, upper.run_id]],
  );
  expect(rows).toEqual([
    { client: null, cost_pico: '1000', duration_ms: 120, own_key: false },
    { client: 'other', cost_pico: '9'.repeat(30), duration_ms: 2_147_483_647, own_key: false },
  ]);
});
