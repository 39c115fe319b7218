import { describe, expect, it } from '@jest/globals';
import { readEvents } from '../src/ingest/read-events.ts';
import { makeEnd, makeStart, received } from './event-fixture.ts';

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
