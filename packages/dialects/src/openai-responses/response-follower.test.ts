import { describe, expect, it } from '@jest/globals';
import { errorEvent } from '@gatehouse/http/dialect-error';
import { AppError } from '@gatehouse/kit/errors';
import { ResponseFollower } from './response-follower.ts';

const frame = (text: string): Buffer => Buffer.from(text);
const created = frame(
  'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","created_at":7,"model":"m"}}\n\n',
);
const delta = frame(
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":8}\n\n',
);

describe('the place in a stream', () => {
  it('is that behind the last event with a number', () => {
    const follower = new ResponseFollower();
    expect(follower.place).toBeNull();
    follower.see([created]);
    expect(follower.place).toEqual({ id: 'resp_1', createdAt: 7, model: 'm', next: 1 });
    follower.see([delta, frame(': keep-alive\n\n'), frame('event: gatehouse.tool\ndata: {"id":"c"}\n\n')]);
    expect(follower.place).toMatchObject({ id: 'resp_1', next: 9 });
  });

  it('is not known where the stream does not say which response it is', () => {
    const follower = new ResponseFollower();
    follower.see([delta, created]);
    expect(follower.place).toBeNull();
  });

  it('is that of an event that is too large to be kept', () => {
    const follower = new ResponseFollower();
    const large = String(created)
      .replace('"m"', `"${'m'.repeat(20_000)}"`)
      .replace(':0,', ':4,');
    follower.see([frame(large)]);
    expect(follower.place?.next).toBe(5);
  });
});

describe('an error in a stream of responses', () => {
  const error = new AppError('provider_error', 'The provider failed.', { param: 'model' });
  const read = (text: string): unknown[] =>
    text
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => {
        const [, name, data = ''] = /^event: (.*)\ndata: (.*)$/.exec(event) ?? [];
        const fields = JSON.parse(data) as { type: string };
        expect(fields.type).toBe(name);
        return fields;
      });

  it('is an error and a failed response that go on from it', () => {
    const follower = new ResponseFollower();
    follower.see([created, delta]);
    expect(read(errorEvent('responses', error, 'r-1', follower.place))).toEqual([
      {
        ...{ type: 'error', code: 'provider_error', message: 'The provider failed.', param: 'model' },
        ...{ request_id: 'r-1', sequence_number: 9 },
      },
      {
        ...{ type: 'response.failed', sequence_number: 10 },
        response: expect.objectContaining({
          ...{ id: 'resp_1', object: 'response', created_at: 7, model: 'm', status: 'failed', output: [] },
          error: { code: 'provider_error', message: 'The provider failed.' },
        }),
      },
    ]);
  });

  it('has a response of its own where the place is not known', () => {
    expect(read(errorEvent('responses', error, 'r-1'))).toMatchObject([
      { type: 'error', sequence_number: 0 },
      { type: 'response.failed', sequence_number: 1, response: { id: 'resp_r-1' } },
    ]);
  });
});
