import { expect, it } from '@jest/globals';
import { dialects } from '@gatehouse/dialects/dialects';
import { BodyBudget } from '@gatehouse/kit/body-budget';
import { monotonicMs } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { longestBlock } from '@gatehouse/test/longest-block';
import { RunContent } from './run-content.ts';
import type { ToolContent } from './tool-content.ts';

const body = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }));
const frame = (content: string) =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);

/** A content beside another one of its tenant, with memory for so many bytes more. */
function contentWith(bytes: number): { content: RunContent; inUse: () => number } {
  const budget = new BodyBudget({ perTenant: 1_000 + bytes, perProcess: 1_000_000_000 });
  budget.open('tenant', null).grow(1_000);
  const content = new RunContent({
    ...{ run: { id: newId(), tenantId: 'tenant', userId: null }, dialect: dialects.chat },
    ...{ share: budget.open('tenant', null), agent: null, arrivedAt: monotonicMs() },
  });
  return { content, inUse: () => budget.inUse.bytes };
}

const read = async (content: RunContent) => JSON.parse((await content.document()).toString()) as unknown;

const toolCall = (argumentsJson: string, result: string): ToolContent => ({
  ...{ server: 's', name: 's__t', tool: 't', outcome: 'ok', startedAt: 0, endedAt: 1 },
  ...{ argumentsJson, result },
});

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
  content.addTool(toolCall('{}', 'y'.repeat(1_000)));
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

it('has the long texts of tools cut, and leaves out those of calls beyond its room', async () => {
  const { content } = contentWith(100_000_000);
  const key = `gwk_0123456789abcdef_${'a'.repeat(43)}`;
  content.addTool(toolCall(JSON.stringify({ api_key: 'secret', q: key }), 'short'));
  for (let call = 1; call < 100; call += 1)
    content.addTool(toolCall(JSON.stringify({ q: 'q'.repeat(200_000) }), 'y'.repeat(200_000)));
  const { tool_calls: calls, truncated } = (await read(content)) as {
    tool_calls: { arguments: { q: string } | null; result: string | null }[];
    truncated: boolean;
  };
  expect(calls[0]).toMatchObject({ arguments: { api_key: '[removed]', q: '[removed]' }, result: 'short' });
  expect(calls[1]?.arguments?.q).toHaveLength(200_000);
  expect(calls[1]?.result).toMatch(/^y+\n\[200000 characters, cut\]$/);
  expect(calls[2]?.arguments?.q).toMatch(/^q+\n\[200000 characters, cut\]$/);
  expect(calls.at(-1)).toMatchObject({ name: 't', arguments: null, result: null, is_error: false });
  expect([calls.length, truncated]).toEqual([100, true]);
  expect(JSON.stringify(calls).length).toBeLessThan(300_000);
});

it('does not hold the event loop with many large calls of tools', async () => {
  const blocked = await longestBlock(async () => {
    const { content } = contentWith(100_000_000);
    const many = JSON.stringify(Array<string>(40_000).fill('x'));
    for (let call = 0; call < 100; call += 1) content.addTool(toolCall(many, '\n"'.repeat(100_000)));
    await content.document();
  }, 50);
  expect(blocked).toBeLessThan(50);
});

it('counts a stream of short frames', async () => {
  const { content, inUse } = contentWith(100_000);
  const short = frame('a word or two of text');
  expect(short.length).toBeLessThan(100);
  content.addFrames(Array<Buffer>(20_000).fill(short));
  expect(inUse()).toBeGreaterThan(90_000);
  expect(await read(content)).toMatchObject({ truncated: true });
});
