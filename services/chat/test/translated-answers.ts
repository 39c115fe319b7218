/** Answers of Anthropic's messages and of OpenAI's chat completions. */

export type Fields = Record<string, unknown>;

export const message = (content: Fields[], fields: Fields = {}): Fields => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', content, stop_sequence: null },
  ...{ stop_reason: 'end_turn', ...fields },
  usage: { input_tokens: 6, cache_read_input_tokens: 4, cache_creation_input_tokens: 0, output_tokens: 5 },
});
export function messageEvents(blocks: Fields[], stop_reason = 'end_turn'): string[] {
  const { usage, ...head } = message([], { stop_reason: null });
  const events: Fields[] = [
    { type: 'message_start', message: { ...head, usage: { ...(usage as Fields), output_tokens: 1 } } },
    ...blocks.flatMap((block, index) => [
      {
        ...{ type: 'content_block_start', index },
        content_block: {
          ...block,
          ...(block['type'] === 'text' ? { text: '' } : {}),
          ...(block['type'] === 'tool_use' && { input: {} }),
          ...(block['type'] === 'thinking' && { thinking: '', signature: '' }),
        },
      },
      ...deltasOf(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ];
  return events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`);
}
function deltasOf(block: Fields): Fields[] {
  switch (block['type']) {
    case 'text':
      return [{ type: 'text_delta', text: block['text'] }];
    case 'thinking':
      return [
        { type: 'thinking_delta', thinking: block['thinking'] },
        { type: 'signature_delta', signature: block['signature'] },
      ];
    default:
      return [{ type: 'input_json_delta', partial_json: JSON.stringify(block['input']) }];
  }
}
export const completion = (fields: Fields, finish_reason = 'stop'): Fields => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 7, model: 'gpt-x' },
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...fields }, finish_reason }],
  usage: {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    prompt_tokens_details: { cached_tokens: 4 },
  },
});
export function chunks(deltas: Fields[], finish_reason = 'stop'): string[] {
  const chunk = (choices: Fields[], more: Fields = {}): string =>
    `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 7, model: 'gpt-x', choices, ...more })}\n\n`;
  return [
    ...deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }])),
    chunk([{ index: 0, delta: {}, finish_reason }]),
    chunk([], {
      usage: {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 4 },
      },
    }),
    'data: [DONE]\n\n',
  ];
}

/** The same answer by a model of each API. */
export const answers: Readonly<Record<string, Fields>> = {
  gpt: completion({ content: 'Four.' }),
  claude: message([{ type: 'text', text: 'Four.' }]),
  'gpt-responses': {
    ...{ id: 'resp_1', object: 'response', created_at: 7, status: 'completed', model: 'gpt-x' },
    output: [
      {
        ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
        content: [{ type: 'output_text', text: 'Four.', annotations: [] }],
      },
    ],
    usage: {
      ...{ input_tokens: 10, input_tokens_details: { cached_tokens: 4 }, output_tokens: 5 },
      ...{ output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 15 },
    },
  },
  flash: {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Four.' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: {
      ...{ promptTokenCount: 10, cachedContentTokenCount: 4, candidatesTokenCount: 5 },
      totalTokenCount: 15,
    },
    modelVersion: 'gemini-x',
  },
};
