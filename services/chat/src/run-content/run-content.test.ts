import { expect, it } from '@jest/globals';
import { dialects } from '@gatehouse/dialects/dialects';
import { BodyBudget } from '@gatehouse/kit/body-budget';
import { monotonicMs } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { RunContent } from './run-content.ts';

const body = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }));
const frame = (content: string) =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);

/** A content beside another one of its tenant, with memory for so many bytes more. */
function contentWith(bytes: number): { content: RunContent; inUse: () => number } {
  const budget = new BodyBudget({ perTenant: 1_000 + bytes, perProcess: 1_000_000 });
  budget.open('tenant', null).grow(1_000);
  const content = new RunContent({
    ...{ run: { id: newId(), tenantId: 'tenant', userId: null }, dialect: dialects.chat },
    ...{ share: budget.open('tenant', null), agent: null, arrivedAt: monotonicMs(), days: 1 },
  });
  return { content, inUse: () => budget.inUse.bytes };
}

const read = async (content: RunContent) => JSON.parse((await content.document()).toString()) as unknown;

it('is whole within its memory, and releases it', async () => {
  const { content, inUse } = contentWith(10_000);
  await content.addRequest(body);
  content.addFrames([frame('Hello'), frame(' there')]);
  content.endFrames([Buffer.from('data: [DONE]\n\n')]);
  expect(await read(content)).toMatchObject({
    messages: [{ content: 'hi' }],
    response: { choices: [{ message: { content: 'Hello there' } }] },
    truncated: false,
  });
  expect(inUse()).toBeGreaterThan(1_000);
  content.release();
  expect(inUse()).toBe(1_000);
});

it('lacks what there is no memory for, and the run goes on', async () => {
  const { content } = contentWith(200);
  await content.addRequest(body);
  content.addFrames([frame('Hello'), frame('x'.repeat(1_000)), frame(' there')]);
  const call = {
    server: 's',
    name: 's__t',
    tool: 't',
    argumentsJson: '{}',
    outcome: 'ok',
    startedAt: 0,
    endedAt: 1,
  };
  content.addTool({ ...call, result: 'y'.repeat(1_000) });
  expect(await read(content)).toMatchObject({
    messages: [{ content: 'hi' }],
    response: { choices: [{ message: { content: 'Hello' } }] },
    ...{ tool_calls: [], truncated: true },
  });
  const without = contentWith(0).content;
  await without.addRequest(body);
  expect(await read(without)).toMatchObject({ messages: [], parameters: {}, truncated: true });
});

it('ends the response before a frame that is none of its API', async () => {
  const { content } = contentWith(10_000);
  await content.addRequest(body);
  content.addFrames([frame('Hello'), Buffer.from('data: {"choices":\n\n'), frame(' there')]);
  expect(await read(content)).toMatchObject({
    response: { choices: [{ message: { content: 'Hello' } }] },
    truncated: true,
  });
});
