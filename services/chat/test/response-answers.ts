/** Answers of a provider that speaks OpenAI's responses. */

export type Fields = Record<string, unknown>;

const usage = {
  ...{ input_tokens: 10, input_tokens_details: { cached_tokens: 4 }, output_tokens: 6, total_tokens: 16 },
  output_tokens_details: { reasoning_tokens: 2 },
};
export const messageItem = (text: string, id = 'msg_1'): Fields => ({
  ...{ id, type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});
export const thought = (id: string): Fields => ({
  id,
  type: 'reasoning',
  summary: [],
  encrypted_content: `enc-${id}`,
});
export const callItem = (call_id: string, name: string, args: string): Fields => ({
  ...{ id: `fc_${call_id}`, type: 'function_call', status: 'completed', call_id, name, arguments: args },
});
export const answerOf = (output: Fields[], fields: Fields = {}): Fields => ({
  ...{ id: 'resp_1', object: 'response', created_at: 7, status: 'completed', model: 'gpt-x-1', error: null },
  ...{ store: false, output, usage, ...fields },
});

export function framesOf(events: readonly Fields[]): string[] {
  return events.map(
    (event, sequence_number) =>
      `event: ${String(event['type'])}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`,
  );
}

/** The events of an answer. `id`: of the response. */
export function eventsOf(output: readonly Fields[], id = 'resp_1'): Fields[] {
  const begun = answerOf([], { id, status: 'in_progress', usage: null });
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...output.flatMap((item, output_index) => itemEvents(item, output_index)),
    { type: 'response.completed', response: answerOf([...output], { id }) },
  ];
}

function itemEvents(item: Fields, output_index: number): Fields[] {
  const place = { item_id: item['id'], output_index };
  const done = { type: 'response.output_item.done', output_index, item };
  const added = (begun: Fields): Fields => ({
    type: 'response.output_item.added',
    output_index,
    item: { ...item, ...begun },
  });
  if (item['type'] === 'function_call') {
    const delta = item['arguments'];
    return [
      added({ arguments: '', status: 'in_progress' }),
      { type: 'response.function_call_arguments.delta', ...place, delta },
      { type: 'response.function_call_arguments.done', ...place, name: item['name'], arguments: delta },
      done,
    ];
  }
  if (item['type'] !== 'message') return [added({}), done];
  const [part] = item['content'] as Fields[];
  const inPart = { ...place, content_index: 0 };
  return [
    added({ content: [], status: 'in_progress' }),
    { type: 'response.content_part.added', ...inPart, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...inPart, delta: part?.['text'], logprobs: [] },
    { type: 'response.output_text.done', ...inPart, text: part?.['text'], logprobs: [] },
    { type: 'response.content_part.done', ...inPart, part },
    done,
  ];
}
