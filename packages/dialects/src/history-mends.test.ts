import { monotonicMs } from '@gatehouse/kit/clock';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import type { Fields } from '@gatehouse/kit/fields';
import { maxMendedBareBytes, maxMendedElements, maxMendedTexts, maxMendedValues } from './bounds.ts';
import { dialects, type ApiName } from './dialects.ts';
import type { Dialect } from './dialect.ts';
import { historyMends, withHistoryMends, type HistoryMend } from './history-mends.ts';
import { valueEnd } from './wire/json-members.ts';
import { Pieces } from './wire/pieces.ts';

const bytesOf = (body: unknown): Pieces => Pieces.from(Buffer.from(JSON.stringify(body)));
const historyOf = (api: ApiName): Dialect['history'] => (dialects[api] as Dialect).history;
function mended(api: ApiName, body: Fields, ...mends: HistoryMend[]): Fields {
  const steps = withHistoryMends(bytesOf(body), { history: historyOf(api), mends: new Set(mends) });
  return JSON.parse(atOnce(steps).toString()) as Fields;
}

const long = `call_${'x'.repeat(100)}`;
const chatWith = (id: string): Fields => ({
  model: 'm',
  messages: [
    { role: 'user', content: 'Look.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: id, content: 'x' },
  ],
});
const idsOf = (body: Fields): unknown[] =>
  JSON.stringify(body)
    .match(/"(?:id|call_id|tool_call_id|tool_use_id)":"[^"]*"/g)
    ?.map((text) => text.split('"')[3]) ?? [];

describe('ids of calls in a history', () => {
  it('fits those of chat completions, the same for call and result', () => {
    const [id, result] = idsOf(mended('chat', chatWith(long), 'calls.ids'));
    expect(id).toMatch(/^call_[\da-f]{24}$/);
    expect(result).toBe(id);
  });

  it('makes nine letters and digits for Mistral, and leaves its own', () => {
    const [id, result] = idsOf(mended('chat', chatWith('call_1'), 'calls.ids.nine'));
    expect(id).toMatch(/^[\da-z]{9}$/);
    expect(result).toBe(id);
    expect(idsOf(mended('chat', chatWith('D681PevKs'), 'calls.ids.nine'))).toEqual([
      'D681PevKs',
      'D681PevKs',
    ]);
  });

  it('fits those of items', () => {
    const items = (id: string): Fields => ({
      input: [
        { type: 'function_call', call_id: id, name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: id, output: 'x' },
      ],
    });
    const [id, result] = idsOf(mended('responses', items(long), 'calls.ids'));
    expect([id, String(id).length <= 64]).toEqual([result, true]);
    expect(idsOf(mended('responses', items('a|b.c'), 'calls.ids'))).toEqual(['a|b.c', 'a|b.c']);
  });

  it('fits those of blocks', () => {
    const body = {
      messages: [
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'functions.f:0', name: 'f', input: { id: 'a b' } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'functions.f:0', content: 'x' }] },
        { role: 'user', content: 'Go on.' },
      ],
    };
    const [id, input, result] = idsOf(mended('messages', body, 'calls.ids'));
    expect([id, input]).toEqual([result, 'a b']);
    expect(id).toMatch(/^toolu_[\da-f]{24}$/);
  });
});

it('the first call of a message without a signature gets the placeholder', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
  const signed = { ...call, extra_content: { google: { thought_signature: 'c2ln' } } };
  const placed = {
    ...call,
    extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } },
  };
  const messages = [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: null, tool_calls: [call, call] },
    { role: 'assistant', content: null, tool_calls: [signed, call] },
    { role: 'assistant', content: 'Hm.', tool_calls: [] },
  ];
  expect(mended('chat', { messages }, 'calls.signatures')).toEqual({
    messages: [messages[0], { ...messages[1], tool_calls: [placed, call] }, ...messages.slice(2)],
  });
});

it('ids of items are left out where they say nothing, and nothing else', () => {
  const input = [
    { type: 'message', id: 'chatcmpl-1', role: 'assistant', content: [{ type: 'output_text', text: 'Hm.' }] },
    { id: 'msg_2', role: 'user', content: 'Go on.' },
    { type: 'reasoning', summary: [], encrypted_content: 'gAA', id: 'item_1' },
    { id: 'fc_1', type: 'custom_tool_call', call_id: 'c1', name: 'p', input: 'x' },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAA' },
    { type: 'item_reference', id: 'msg_1' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    'odd',
  ];
  const without = (item: unknown): unknown => {
    const { id: _id, ...others } = item as Fields;
    return others;
  };
  expect(mended('responses', { model: 'm', input }, 'items.ids')).toEqual({
    model: 'm',
    input: [...input.slice(0, 4).map(without), ...input.slice(4)],
  });
});

it('reasoning of one id keeps it once', () => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAA' };
  const other = { ...reasoning, id: 'rs_2' };
  const { id: _id, ...unnamed } = reasoning;
  expect(mended('responses', { input: [reasoning, other, reasoning] }, 'items.ids')).toEqual({
    input: [reasoning, other, unnamed],
  });
});

it('a developer becomes the system', () => {
  const messages = [
    { role: 'developer', content: 'The developer says: "role":"developer".' },
    { role: 'user', content: 'Hi.' },
  ];
  const want = [{ ...messages[0], role: 'system' }, messages[1]];
  expect(mended('chat', { messages }, 'roles.developer')).toEqual({ messages: want });
  expect(mended('responses', { input: messages }, 'roles.developer')).toEqual({ input: want });
});

describe('roles of servers that want them to alternate', () => {
  const user = (content: unknown): Fields => ({ role: 'user', content });
  const assistant = { role: 'assistant', content: 'Hm.' };

  it('join messages of the user in a row', () => {
    const image = { type: 'image_url', image_url: { url: 'data:,' } };
    const messages = [
      ...[{ role: 'system', content: 'S' }, user('a'), { ...user('b "c"'), name: 'n' }, user('c')],
      ...[assistant, user('d'), assistant, user('e'), user([image]), assistant, user([]), user('f')],
    ];
    expect(mended('chat', { messages, model: 'm' }, 'roles.alternate')).toEqual({
      messages: [
        ...[{ role: 'system', content: 'S' }, user('a\n\nb "c"\n\nc'), assistant, user('d'), assistant],
        ...[user([{ type: 'text', text: 'e' }, image]), assistant, user([]), user('f')],
      ],
      model: 'm',
    });
  });

  it('join texts of the assistant, but none with calls or reasoning', () => {
    const said = (content: string): Fields => ({ role: 'assistant', content, refusal: null, tool_calls: [] });
    const called = { ...said('c'), tool_calls: [{ id: 'c1', type: 'function' }] };
    const reasoned = { ...said('r'), reasoning_content: 'Hm.' };
    const messages = [user('u'), said('a'), said('b'), called, said('d'), reasoned, said('e'), said('f')];
    expect(mended('chat', { messages }, 'roles.alternate')).toEqual({
      messages: [user('u'), said('a\n\nb'), called, said('d'), reasoned, said('e\n\nf')],
    });
  });

  it('have the user first', () => {
    const system = { role: 'system', content: 'S' };
    const first = user('(The conversation begins here.)');
    const mend = (...messages: Fields[]): unknown =>
      mended('chat', { messages }, 'roles.alternate')['messages'];
    expect(mend(system, assistant, assistant)).toEqual([
      ...[system, first, { ...assistant, content: 'Hm.\n\nHm.' }],
    ]);
    expect(mend(system, user('a'), assistant)).toEqual([system, user('a'), assistant]);
  });

  it('join texts and parts of an item by its API', () => {
    const part = { type: 'input_image', image_url: 'data:,' };
    expect(mended('responses', { input: [user('a'), user([part])] }, 'roles.alternate')).toEqual({
      input: [user([{ type: 'input_text', text: 'a' }, part])],
    });
  });

  it('make the system a user, who then speaks with the next', () => {
    const messages = [{ role: 'system', content: 'S' }, { role: 'developer', content: 'D' }, user('a')];
    expect(mended('chat', { messages }, 'roles.system')).toEqual({
      messages: [user('S'), user('D'), user('a')],
    });
    expect(mended('chat', { messages }, 'roles.system', 'roles.developer', 'roles.alternate')).toEqual({
      messages: [user('S\n\nD\n\na')],
    });
  });
});

it('the assistant speaks between results and the next message', () => {
  const roles = (body: Fields): unknown[] => (body['messages'] as Fields[]).map(({ role }) => role);
  const given = [
    'user',
    'assistant',
    'tool',
    'tool',
    'user',
    'assistant',
    'tool',
    'assistant',
    'tool',
    'system',
  ];
  const messages = given.map((role) => ({ role, content: 'x' }));
  expect(roles(mended('chat', { messages }, 'roles.after.tool'))).toEqual([
    ...['user', 'assistant', 'tool', 'tool', 'assistant', 'user', 'assistant', 'tool', 'assistant', 'tool'],
    ...['assistant', 'system'],
  ]);
});

it('a body without a change is the same', () => {
  const body = bytesOf(chatWith('call_1'));
  const steps = withHistoryMends(body, {
    history: historyOf('chat'),
    mends: new Set(['calls.ids', 'items.ids', 'other']),
  });
  expect(atOnce(steps)).toBe(body);
  for (const odd of [{}, { messages: null }, { messages: [1, [], {}] }, { input: 'Hi.' }])
    for (const api of ['chat', 'responses', 'gemini'] as const)
      expect(mended(api, odd, 'calls.ids', 'roles.developer')).toEqual(odd);
});

describe('a history of many or long texts', () => {
  const developer = '{"role":"developer","content":"D"}';
  const bodyOf = (content: string): Pieces =>
    Pieces.from(Buffer.from(`{"messages":[{"role":"developer","content":${content}}]}`));
  const allMends = new Set<string>(historyMends);
  // It changes the same member.
  allMends.delete('roles.system');
  const stepsOf = (body: Pieces): ReturnType<typeof withHistoryMends> =>
    withHistoryMends(body, { history: historyOf('chat'), mends: allMends });
  const longContents: readonly (readonly [name: string, content: string])[] = [
    ['values', `[${'0,'.repeat(maxMendedValues)}0]`],
    ['texts', `["${'","'.repeat(maxMendedTexts)}"]`],
    ['bytes outside of texts', `[${' '.repeat(maxMendedBareBytes)}]`],
  ];

  it.each(longContents)('has a message with too many %s as it was, and others mended', (_name, content) => {
    const long = `{"role":"developer","content":${content}}`;
    const body = Buffer.from(`{"messages":[${long},${developer}, ${long}]}`);
    const system = developer.replace('developer', 'system');
    const { whole } = atOnce(stepsOf(Pieces.from(body)));
    expect(whole.equals(Buffer.from(`{"messages":[${long},${system}, ${long}]}`))).toBe(true);
  });

  it('is mended where all its messages together are long', () => {
    const messages = Array.from({ length: maxMendedTexts / 3 }, () => developer).join(',');
    const { whole } = atOnce(stepsOf(Pieces.from(Buffer.from(`{"messages":[${messages}]}`))));
    expect(whole.toString()).not.toContain('"developer"');
  });

  it('stays with too many messages', () => {
    const body = bodyOf(`"x"}${`,${developer}`.repeat(maxMendedElements)},{"x":0`);
    expect(atOnce(stepsOf(body))).toBe(body);
  });

  it('of 20 MiB is mended in many steps', () => {
    const half = (part: string): string => part.repeat(Math.ceil((10 * 1024 * 1024) / part.length));
    const calls = `{"role":"assistant","tool_calls":[${'{"id":"c"},'.repeat(4_000)}0]},`;
    const body = bodyOf(`["x"${half(',"x"')}]},${half(calls)}{"x":0`);
    const steps = stepsOf(body);
    let [longest, whole, count] = [0, 0, 0];
    for (let isDone = false; !isDone; count += 1) {
      const since = monotonicMs();
      isDone = steps.next().done === true;
      const took = monotonicMs() - since;
      [longest, whole] = [Math.max(longest, took), whole + took];
    }
    expect(count).toBeGreaterThan(150);
    expect(longest).toBeLessThan(whole / 4);
  });

  it('is mended in steps shorter than one search for the end of its text', () => {
    const escapes = `"${'\\"'.repeat(8 * 1024 * 1024)}"`;
    const unnoted = Buffer.from(escapes);
    let since = monotonicMs();
    valueEnd(unnoted, 0);
    const search = monotonicMs() - since;
    // A body with changes has several pieces.
    const steps = stepsOf(new Pieces([...bodyOf(escapes).all, Buffer.from(' ')]));
    let longest = 0;
    for (;;) {
      since = monotonicMs();
      const step = steps.next();
      longest = Math.max(longest, monotonicMs() - since);
      if (step.done !== true) continue;
      expect(step.value.all[1]?.toString()).toBe('"system"');
      break;
    }
    expect(longest).toBeLessThan(search / 2);
  });
});
