import fc from 'fast-check';

/** Answers of models in OpenAI's format, and the ways in which servers that imitate it write them. For tests. */

type Fields = Record<string, unknown>;

export interface Call {
  id: string;
  name: string;
  args: Fields;
}

/** The answer of a model. */
export interface Said {
  text: string;
  calls: readonly Call[];
  usage: { input: number; output: number };
}

const call = fc.record({
  name: fc.constantFrom('search', 'book', 'f'),
  args: fc.dictionary(
    fc.constantFrom('q', 'from', 'n'),
    fc.oneof(fc.string({ maxLength: 20 }), fc.integer()),
  ),
});

export const said: fc.Arbitrary<Said> = fc
  .record({
    text: fc.string({ unit: 'grapheme', maxLength: 200 }),
    calls: fc.array(call, { maxLength: 3 }),
    input: fc.integer({ min: 1, max: 100_000 }),
    output: fc.integer({ min: 1, max: 10_000 }),
  })
  .map(({ text, calls, input, output }) => ({
    // An answer of nothing has no choice that has begun.
    text: text === '' && calls.length === 0 ? '.' : text,
    calls: calls.map((each, index) => ({ ...each, id: `call_${index}` })),
    usage: { input, output },
  }));

/** The chunks of an answer, with its texts in pieces of these sizes. */
export function chunksOf({ text, calls, usage }: Said, sizes: readonly number[]): Fields[] {
  const cut = (whole: string): string[] => {
    const pieces: string[] = [];
    for (let at = 0, n = 0; at < whole.length; n += 1) {
      const size = sizes[n % sizes.length] ?? 1;
      pieces.push(whole.slice(at, at + size));
      at += size;
    }
    return pieces;
  };
  const deltas: Fields[] = [
    { role: 'assistant', content: '' },
    ...cut(text).map((content) => ({ content })),
    ...calls.flatMap(({ id, name, args }, index) => [
      { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
      ...cut(JSON.stringify(args)).map((piece) => ({
        tool_calls: [{ index, function: { arguments: piece } }],
      })),
    ]),
  ];
  const chunk = (choices: unknown[], more: Fields = {}): Fields => ({
    ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_790_000_000, model: 'm-1', choices },
    ...more,
  });
  const reason = calls.length > 0 ? 'tool_calls' : 'stop';
  return [
    ...deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }])),
    chunk([{ index: 0, delta: {}, finish_reason: reason }]),
    chunk([], { usage: usageOf(usage) }),
  ];
}

/** The same as one object. */
export function wholeOf({ text, calls, usage }: Said): Fields {
  const toolCalls = calls.map(({ id, name, args }) => ({
    ...{ id, type: 'function' },
    function: { name, arguments: JSON.stringify(args) },
  }));
  const message = {
    ...{ role: 'assistant', content: text === '' ? null : text },
    ...(calls.length > 0 && { tool_calls: toolCalls }),
  };
  return {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1_790_000_000, model: 'm-1' },
    choices: [{ index: 0, message, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }],
    usage: usageOf(usage),
  };
}

function usageOf({ input, output }: Said['usage']): Fields {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

/** Changes each choice of a chunk, or of an answer. */
const eachChoice =
  (change: (choice: Fields) => Fields) =>
  (chunk: Fields): Fields => ({ ...chunk, choices: (chunk['choices'] as Fields[]).map(change) });
const eachDelta = (change: (delta: Fields) => Fields): ((chunk: Fields) => Fields) =>
  eachChoice((choice) =>
    choice['delta'] === undefined || choice['delta'] === null
      ? choice
      : { ...choice, delta: change(choice['delta'] as Fields) },
  );
const eachCall = (change: (piece: Fields) => Fields): ((chunk: Fields) => Fields) =>
  eachDelta((delta) =>
    Array.isArray(delta['tool_calls'])
      ? { ...delta, tool_calls: (delta['tool_calls'] as Fields[]).map(change) }
      : delta,
  );
const without =
  (name: string): ((fields: Fields) => Fields) =>
  (fields) => {
    const { [name]: _left, ...others } = fields;
    return others;
  };
const isUsage = (chunk: Fields): boolean =>
  (chunk['choices'] as unknown[]).length === 0 && Boolean(chunk['usage']);
const hasReason = (chunk: Fields): boolean =>
  (chunk['choices'] as Fields[]).some(
    ({ finish_reason: reason }) => reason === 'stop' || reason === 'tool_calls',
  );

/** How the chunks of a stream are written otherwise. Each is named by who does so, or where it was reported. */
export const chunkWays: Readonly<Record<string, (chunks: readonly Fields[]) => Fields[]>> = {
  'a first chunk without id and model (Azure)': (chunks) => [
    { id: '', object: '', created: 0, model: '', choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
    ...chunks,
  ],
  'an empty finish reason in each chunk (sglang#3912)': (chunks) =>
    chunks.map(eachChoice((choice) => ({ ...choice, finish_reason: choice['finish_reason'] ?? '' }))),
  'the word null as a finish reason': (chunks) =>
    chunks.map(eachChoice((choice) => ({ ...choice, finish_reason: choice['finish_reason'] ?? 'null' }))),
  'no finish reason but the last (vllm#19662)': (chunks) =>
    chunks.map((chunk) => (hasReason(chunk) ? chunk : eachChoice(without('finish_reason'))(chunk))),
  'a finish reason of stop beside calls (python-genai#2868)': (chunks) =>
    chunks.map((chunk) =>
      hasReason(chunk) ? eachChoice((choice) => ({ ...choice, finish_reason: 'stop' }))(chunk) : chunk,
    ),
  'a delta of null at the end (agent-framework#5734)': (chunks) =>
    chunks.map((chunk) =>
      hasReason(chunk) ? eachChoice((choice) => ({ ...choice, delta: null }))(chunk) : chunk,
    ),
  'no delta at the end': (chunks) =>
    chunks.map((chunk) => (hasReason(chunk) ? eachChoice(without('delta'))(chunk) : chunk)),
  'null in place of what is absent (sglang#3912)': (chunks) =>
    chunks.map((chunk) =>
      eachDelta((delta) => ({ role: null, content: null, tool_calls: null, refusal: null, ...delta }))({
        error: null,
        usage: null,
        ...chunk,
      }),
    ),
  'the role again in each chunk': (chunks) =>
    chunks.map(eachDelta((delta) => ({ role: 'assistant', ...delta }))),
  'content in parts (Magistral)': (chunks) =>
    chunks.map(
      eachDelta((delta) =>
        typeof delta['content'] === 'string' && delta['content'] !== ''
          ? { ...delta, content: [{ type: 'text', text: delta['content'] }] }
          : delta,
      ),
    ),
  'the whole message again at the end (hermes-browser-extension#11)': (chunks) =>
    chunks.map((chunk) =>
      hasReason(chunk) ? eachChoice((choice) => ({ ...choice, message: messageIn(chunks) }))(chunk) : chunk,
    ),
  'choices without an index': (chunks) => chunks.map(eachChoice(without('index'))),
  'ids again in each piece of a call': (chunks) =>
    chunks.map(eachCall((piece) => ({ ...piece, id: `call_${String(piece['index'])}` }))),
  'pieces of calls without an index (AstrBot#6692)': (chunks) => chunks.map(eachCall(without('index'))),
  'an index of null for pieces of calls': (chunks) =>
    chunks.map(eachCall((piece) => ({ ...piece, index: null }))),
  'names of null in later pieces of a call': (chunks) =>
    chunks.map(
      eachCall((piece) => ({ ...piece, function: { name: null, ...(piece['function'] as Fields) } })),
    ),
  'usage in the choice of the last chunk (Moonshot)': (chunks) => {
    const usage = chunks.find(isUsage)?.['usage'];
    return chunks
      .filter((chunk) => !isUsage(chunk))
      .map((chunk) => (hasReason(chunk) ? eachChoice((choice) => ({ ...choice, usage }))(chunk) : chunk));
  },
  'usage beside the last choice': (chunks) => {
    const usage = chunks.find(isUsage)?.['usage'];
    return chunks
      .filter((chunk) => !isUsage(chunk))
      .map((chunk) => (hasReason(chunk) ? { ...chunk, usage } : chunk));
  },
  'zeros after the real usage': (chunks) => [
    ...chunks,
    { ...chunks[0], choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } },
  ],
  'a ping before the first chunk': (chunks) => [{ type: 'ping', choices: [] }, ...chunks],
};

function messageIn(chunks: readonly Fields[]): Fields {
  const deltas = chunks.flatMap((chunk) =>
    (chunk['choices'] as Fields[]).map(({ delta }) => Object(delta) as Fields),
  );
  const contents = deltas.map(({ content }) => (typeof content === 'string' ? content : ''));
  return { role: 'assistant', content: contents.join('') };
}

/** How the frames of a stream are written otherwise. */
export const frameWays: Readonly<Record<string, (frames: readonly string[]) => string>> = {
  'as OpenAI does': (frames) => frames.map((frame) => `data: ${frame}\n\n`).join(''),
  'with CR and LF (cc-switch#1787)': (frames) => frames.map((frame) => `data: ${frame}\r\n\r\n`).join(''),
  'without a space (openai-python#498)': (frames) => frames.map((frame) => `data:${frame}\n\n`).join(''),
  'with comments between them (OpenRouter)': (frames) =>
    frames.map((frame) => `: OPENROUTER PROCESSING\n\ndata: ${frame}\n\n`).join(''),
  'with names and ids of events': (frames) =>
    frames.map((frame, index) => `event: message\nid: ${index}\ndata: ${frame}\n\n`).join(''),
  'after a byte order mark': (frames) => `\ufeff${frames.map((frame) => `data: ${frame}\n\n`).join('')}`,
  'without the last blank line': (frames) => frames.map((frame) => `data: ${frame}`).join('\n\n'),
  'without [DONE]': (frames) =>
    frames
      .filter((frame) => frame !== '[DONE]')
      .map((frame) => `data: ${frame}\n\n`)
      .join(''),
};
