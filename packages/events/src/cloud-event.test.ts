import { describe, expect, it } from '@jest/globals';
import { maxEventBytes, readEvent, writeEvent } from './cloud-event.ts';

const fields = {
  id: 'run.ended',
  source: 'gatehouse/chat',
  type: 'gatehouse.run.ended',
  time: '2026-11-21T10:00:00Z',
  subject: 'run',
  partitionkey: 'tenant',
  data: { a: [1, { b: '\u2028' }] },
};

describe('an event', () => {
  it('is a CloudEvent in JSON', () => {
    expect(JSON.parse(writeEvent(fields))).toEqual({
      ...fields,
      specversion: '1.0',
      datacontenttype: 'application/json',
    });
  });

  it('is read back', () => {
    expect(readEvent(writeEvent(fields))).toMatchObject({ id: fields.id, data: { a: [1, { b: '\u2028' }] } });
  });

  it.each([
    ['', 'not JSON'],
    ['{', 'not JSON'],
    ['null', 'not a CloudEvent'],
    ['{"specversion":"0.3","id":"a","source":"b","type":"c"}', 'not a CloudEvent: specversion'],
    ['{"specversion":"1.0","source":"b","type":"c"}', 'not a CloudEvent: id'],
    [`"${'x'.repeat(maxEventBytes)}"`, 'larger than'],
  ])('is refused with the reason: %#', (text, reason) => {
    expect(() => readEvent(text)).toThrow(reason);
  });
});
