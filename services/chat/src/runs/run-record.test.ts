import { describe, expect, it } from '@jest/globals';
import { maxEventBytes, readEvent } from '@gatehouse/events/cloud-event';
import { maxSpans, runEndedData, textLimits, writeRunEvent } from '@gatehouse/events/run-event';
import { largestRun } from '../../test/largest-run.ts';
import { storedAttempt, runEnding, startedRun } from './run-record.ts';

/** As long as what a provider was seen to send, of characters that take the most bytes in JSON and in UTF-8. */
const endless = { escaped: '\u0001'.repeat(1_200_000), wide: '\u{1f600}'.repeat(600_000) };

describe.each(Object.entries(endless))('the record of a run with endless %s texts', (_name, text) => {
  const { identity, end, attempts } = largestRun(text);
  const run = startedRun(identity);
  const event = writeRunEvent('gatehouse/chat', {
    runId: identity.id,
    tenantId: identity.tenantId,
    startedAt: '2026-11-22T12:00:00.000Z',
    endedAt: '2026-11-22T12:00:01.000Z',
    corrects: false,
    data: JSON.stringify({ ...run, ...runEnding(run, end, attempts) }),
  });

  it('makes an event below the limit of events', () => {
    expect(attempts.length).toBeGreaterThan(maxSpans);
    expect(Buffer.byteLength(event)).toBeLessThan(maxEventBytes);
    // Not far below either: the limits are what they can be.
    if (text === endless.escaped) expect(Buffer.byteLength(event)).toBeGreaterThan(maxEventBytes / 2);
  });

  it('makes an event that its reader accepts as it is', () => {
    const { data } = readEvent(event);
    expect(runEndedData.parse(data)).toEqual(data);
  });

  it('keeps whole characters', () => {
    const { output_preview: preview, error_message: message } = runEnding(run, end, attempts);
    expect(preview?.isWellFormed()).toBe(true);
    expect(message).toBe(text.slice(0, textLimits.error_message));
  });

  it('keeps the calls of a run under way in as little space', () => {
    // These texts are the catalogue's and the gateway's own.
    const own = {
      provider: 'p'.repeat(64),
      model: 'm'.repeat(256),
      upstreamModel: 'u'.repeat(256),
      errorCode: 'e',
    };
    const calls = attempts.slice(0, maxSpans).map((attempt) => ({ ...attempt, ...own }));
    const stored = JSON.stringify(calls.map(storedAttempt));
    expect(Buffer.byteLength(stored)).toBeLessThan(maxEventBytes);
  });
});
