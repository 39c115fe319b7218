import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readEvent } from '@gatehouse/events/cloud-event';
import { runEnded, runEndedData, runStarted, runStartedData } from '@gatehouse/events/run-event';
import { watermarkData, watermarkType } from '@gatehouse/events/watermark';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { ChatHarness } from './chat-harness.ts';

describe('events about runs', () => {
  let harness: ChatHarness;
  beforeAll(async () => {
    harness = await ChatHarness.start();
  });
  afterAll(() => harness.stop());

  const parsed = (type: string) =>
    harness.events.map((text) => readEvent(text)).filter((event) => event.type === type);

  it('wait in the outbox until they are published, one for each short run', async () => {
    const body = { model: 'small', messages: [{ role: 'user', content: 'Hello' }] };
    const ids: unknown[] = [];
    for (let index = 0; index < 3; index += 1)
      ids.push((await harness.post('/v1/chat/completions', body)).headers.get('x-run-id'));
    expect(await harness.rows('select id from chat.outbox')).toHaveLength(3);
    harness.takesEvents = true;
    await eventually(async () => {
      expect(await harness.rows('select id from chat.outbox')).toEqual([]);
    });
    const ends = parsed(runEnded).map((event) => runEndedData.parse(event.data));
    // None took half a second, after which a start event is published.
    expect(parsed(runStarted)).toEqual([]);
    expect(ends.map((end) => end.run_id).sort()).toEqual(ids);
    expect(ends[0]).toMatchObject({ status: 'ok', operation: 'chat', request_model: 'small' });
    expect(ends[0]?.spans).toHaveLength(1);
    expect(ends[0]?.spans[0]).toMatchObject({ kind: 'llm', number: 1, status: 'ok', http_status: 200 });
  });

  it('show a start while the run goes on, and its end after it', async () => {
    harness.takesEvents = true;
    harness.events.length = 0;
    const stop = new AbortController();
    const body = { model: 'small', messages: [{ role: 'user', content: 'Hello' }] };
    const pending = harness.post(
      '/v1/chat/completions',
      { ...body, x_simulator: { delay_ms: 60_000 } },
      { signal: stop.signal },
    );
    await eventually(() => {
      expect(parsed(runStarted)).toHaveLength(1);
    });
    stop.abort();
    await expect(pending).rejects.toThrow();
    await eventually(() => {
      const [end] = parsed(runEnded).map((event) => runEndedData.parse(event.data));
      const [start] = parsed(runStarted).map((event) => runStartedData.parse(event.data));
      expect(end).toMatchObject({ run_id: start?.run_id, status: 'cancelled' });
    });
  });

  it('show which calls have tokens and no price, also where another model answered', async () => {
    harness.takesEvents = true;
    const body = {
      model: 'quick-with-priced-fallback',
      messages: [{ role: 'user', content: 'Hello' }],
      x_simulator: { id: newId(), attempts: [{ cut: 'mid_stream' }] },
    };
    expect((await harness.post('/v1/chat/completions', body)).status).toBe(200);
    await eventually(() => {
      const ends = parsed(runEnded).map((event) => runEndedData.parse(event.data));
      const end = ends.find(({ request_model: model }) => model === body.model);
      expect(end).toMatchObject({ status: 'ok', model: 'priced', priced: false });
      const [cut, answered] = end?.spans ?? [];
      expect(cut).toMatchObject({ model: body.model, status: 'error', cost_pico: null });
      expect(cut?.input_tokens).toBeGreaterThan(0);
      expect(answered).toMatchObject({ model: 'priced', status: 'ok', cost_pico: end?.cost_pico });
      expect(Number(end?.cost_pico)).toBeGreaterThan(0);
    });
  });

  it('are followed by watermarks that pass the last end', async () => {
    harness.takesEvents = true;
    const answer = await harness.post('/v1/embeddings', { model: 'small', input: 'Hello' });
    const id = answer.headers.get('x-run-id');
    await eventually(() => {
      const ends = parsed(runEnded).map((event) => runEndedData.parse(event.data));
      const last = ends.find((end) => end.run_id === id);
      const marks = parsed(watermarkType).map((event) => watermarkData.parse(event.data));
      const latest = new Map(marks.map((mark) => [mark.partition, new Date(mark.watermark)]));
      expect(latest.size).toBe(marks[0]?.partitions);
      for (const at of latest.values())
        expect(at.getTime()).toBeGreaterThan(Date.parse(last?.ended_at ?? ''));
    });
  });
});
