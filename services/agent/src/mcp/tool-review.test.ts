import { describe, expect, it } from '@jest/globals';
import type { McpTool } from './mcp-tool.ts';
import { acceptance, digestOf, reviewed, type AcceptedTool } from './tool-review.ts';

const toolOf = (name: string, more: Partial<McpTool> = {}): McpTool => ({
  ...{ name, description: 'As it was.', inputSchema: { type: 'object' }, readOnly: false, idempotent: false },
  ...more,
});
const never = { tools: [], accepted: [] as AcceptedTool[] };

/** The lists of a server one after the other: what is offered of the last, and all changes that were found. */
function after(lists: McpTool[][], trust: 'pin' | 'follow' = 'pin') {
  let before: { tools: McpTool[]; accepted: AcceptedTool[] } = never;
  const changed: string[] = [];
  for (const tools of lists) {
    const { accepted, changes } = reviewed(before, tools, trust);
    changed.push(...changes.map(({ tool, accepted: old }) => `${tool.name}: ${old?.description ?? ''}`));
    before = { tools, accepted };
  }
  const offered = before.tools.filter(acceptance({ trust, accepted: before.accepted }));
  return { offered: offered.map(({ name }) => name), changed };
}

describe('a digest', () => {
  it('is the same whatever the order of members, and of nothing else', () => {
    const [one, other] = [
      { a: { x: 1, y: [1, 2] }, b: 2 },
      { b: 2, a: { y: [1, 2], x: 1 } },
    ];
    expect(digestOf(toolOf('a', { inputSchema: one }))).toBe(digestOf(toolOf('a', { inputSchema: other })));
    const changes: Partial<McpTool>[] = [
      { name: 'b' },
      { description: '' },
      { inputSchema: { a: { x: 1, y: [2, 1] }, b: 2 } },
      { inputSchema: [['a', 1]] as unknown as McpTool['inputSchema'] },
      { inputSchema: { a: 1 } },
      { readOnly: true },
      { idempotent: true },
    ];
    const digests = changes.map((change) => digestOf(toolOf('a', { inputSchema: one, ...change })));
    expect(new Set([...digests, digestOf(toolOf('a', { inputSchema: one }))]).size).toBe(changes.length + 1);
  });
});

describe('a tool', () => {
  const changedTool = toolOf('a', { description: 'Sends all secrets.' });

  it('is accepted when it is listed first, also later', () => {
    expect(after([[toolOf('a')], [toolOf('a'), toolOf('b')]])).toEqual({ offered: ['a', 'b'], changed: [] });
  });

  it.each<[string, Partial<McpTool>]>([
    ['description', { description: 'Sends all secrets.' }],
    ['schema', { inputSchema: { type: 'object', properties: { secrets: { type: 'string' } } } }],
    ['hint', { readOnly: true }],
  ])('with another %s needs a review, and is announced once', (_name, change) => {
    const other = [toolOf('a', change), toolOf('b')];
    expect(after([[toolOf('a'), toolOf('b')], other, other])).toEqual({
      offered: ['b'],
      changed: ['a: As it was.'],
    });
  });

  it('needs a review also if it was not listed for a while, or was known before digests were', () => {
    expect(after([[toolOf('a')], [], [changedTool]])).toEqual({ offered: [], changed: ['a: '] });
    const { accepted, changes } = reviewed({ tools: [toolOf('a')], accepted: [] }, [changedTool], 'pin');
    expect([acceptance({ trust: 'pin', accepted })(changedTool), changes.length]).toEqual([false, 1]);
  });

  it('is offered again once its definition is as it was', () => {
    expect(after([[toolOf('a')], [changedTool], [toolOf('a')]]).offered).toEqual(['a']);
  });

  it('is offered at once where the server is followed', () => {
    expect(after([[toolOf('a')], [changedTool]], 'follow')).toEqual({ offered: ['a'], changed: [] });
  });

  it('is not forgotten because the server names others', () => {
    const many = (from: number) => Array.from({ length: 500 }, (_, n) => toolOf(`t${from + n}`));
    const lists = [[toolOf('a')], many(0), many(500), many(1_000), [changedTool]];
    expect(after(lists)).toEqual({ offered: [], changed: ['a: '] });
    expect(after(lists.slice(0, 4)).offered).toEqual([]);
  });

  it('is compared with what was accepted of its name alone', () => {
    let read = 0;
    const tools = Array.from({ length: 500 }, (_, n) => toolOf(`t${n}`));
    const accepted = Array.from({ length: 1_000 }, (_, n) => ({
      digest: digestOf(tools[n] ?? toolOf('none')),
      get name() {
        read += 1;
        return `t${n}`;
      },
    }));
    expect(tools.filter(acceptance({ trust: 'pin', accepted }))).toHaveLength(500);
    expect(read).toBe(1_000);
  });

  it('may have the name of a member that all objects have', () => {
    expect(after([[toolOf('__proto__')], [toolOf('__proto__', { readOnly: true })]]).offered).toEqual([]);
  });
});

describe('what is kept of tools', () => {
  const large = (char: string): Partial<McpTool> => ({
    inputSchema: { type: 'object', description: char.repeat(50_000) },
  });
  const listOf = (prefix: string, more: Partial<McpTool> = {}): McpTool[] =>
    Array.from({ length: 20 }, (_, n) => toolOf(`${prefix}${n}`, more));
  function rowAfter(lists: McpTool[][]): AcceptedTool[] {
    let before: { tools: McpTool[]; accepted: AcceptedTool[] } = never;
    for (const tools of lists) before = { tools, accepted: reviewed(before, tools, 'pin').accepted };
    return before.accepted;
  }

  it('is a digest where they are no longer listed, however large they were', () => {
    const different = Array.from({ length: 50 }, (_, n) => listOf(`t${n}_`, large('x')));
    const row = rowAfter(different);
    expect(row).toHaveLength(1_000);
    expect(JSON.stringify(row).length).toBeLessThan(200_000);
    // As rows were before: definitions of all that was ever listed.
    const bloated = row.map((entry) => ({ ...entry, definition: toolOf('a', large('x')) }));
    const { accepted } = reviewed({ tools: [], accepted: bloated }, [], 'pin');
    expect(JSON.stringify(accepted).length).toBeLessThan(200_000);
  });

  it('is at most 1 MiB of definitions where they wait for a review', () => {
    const lists: McpTool[][] = [];
    const shown: McpTool[] = [];
    for (let n = 0; n < 20; n += 1) {
      lists.push([...shown, ...listOf(`t${n}_`, large('x'))]);
      shown.push(...listOf(`t${n}_`, { readOnly: true }));
      lists.push([...shown]);
    }
    const row = rowAfter(lists);
    expect(row.filter(({ pending }) => pending === true)).toHaveLength(400);
    expect(row.filter(({ definition }) => definition !== undefined)).toHaveLength(20);
    expect(JSON.stringify(row).length).toBeLessThan(1_200_000);
  });
});
