import type { DialectName } from '@gatehouse/contract/dialects';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { Place } from './plan.ts';
import { documentSchema, jpeg, lookSchema, type Turn } from './turns.ts';

/** The answer to a turn, as a client reads it. */
export interface Reply {
  /** Texts of the answer by block, in order. */
  texts: string[];
  calls: { id: string; name: string; input: unknown }[];
  /** Why the answer ended, in the dialect's words. */
  stop: string;
}

/** A request, ready to send. */
export interface Sending {
  path: string;
  body: Fields;
}

/** A conversation of a client, in the shapes of its dialect: it stores what it gets, and sends all of it back. */
export interface RawClient {
  /** Adds the turn to the conversation. */
  request: (turn: Turn, place: Place, stream: boolean) => Sending;
  /** Adds the answer, which is the body or the events of a stream. */
  answered: (answer: Fields | readonly Fields[]) => Reply;
}

const system = 'You are a guard.';
const limits = { cut: 16, whole: 4_096 };
const limitOf = ({ feature }: Turn): number => (feature === 'cut' ? limits.cut : limits.whole);
const fieldsIn = (value: unknown): Fields[] => listOf(value).filter(isFields);
const fieldsAt = (value: unknown, name: string): Fields => {
  const member = isFields(value) ? value[name] : undefined;
  return isFields(member) ? member : {};
};
/** Texts under a name in the entries of a list. */
const wordsIn = (list: readonly Fields[], name: string): string =>
  list.flatMap((each) => (typeof each[name] === 'string' ? [each[name]] : [])).join(' ');
/** Texts of results, the last call's first. */
const resultsOf = (calls: Reply['calls']): { id: string; name: string; text: string }[] =>
  calls.map(({ id, name }, index) => ({ id, name, text: `Result ${index} of the tool.` })).reverse();
const wantsThoughts = ({ feature }: Turn): boolean => feature === 'calls' || feature === 'recall';

/** Adds the members of `delta` to those of `whole`: texts are joined, lists merged by the `index` of their entries. */
function merge(whole: Fields, delta: Fields): Fields {
  for (const [name, value] of Object.entries(delta)) {
    const old = whole[name];
    if (
      typeof value === 'string' &&
      typeof old === 'string' &&
      !['id', 'type', 'role', 'name'].includes(name)
    )
      whole[name] = old + value;
    else if (isFields(value)) whole[name] = merge(isFields(old) ? old : {}, value);
    else if (Array.isArray(value)) {
      const list = Array.isArray(old) ? old : [];
      for (const entry of fieldsIn(value)) {
        const at = Number(entry['index'] ?? list.length);
        list[at] = merge(isFields(list[at]) ? list[at] : {}, entry);
      }
      whole[name] = list;
    } else if (value !== null) whole[name] = value;
  }
  return whole;
}

function chatClient(): RawClient {
  const messages: Fields[] = [{ role: 'system', content: system }];
  let calls: Reply['calls'] = [];
  return {
    request: (turn, place, stream) => {
      for (const { id, text } of turn.feature === 'results' ? resultsOf(calls) : [])
        messages.push({ role: 'tool', tool_call_id: id, content: text });
      if (turn.feature === 'system') messages.push({ role: 'system', content: 'Be brief from here on.' });
      const url = `data:image/png;base64,${jpeg}`;
      if (turn.text !== null)
        messages.push({
          role: 'user',
          content:
            turn.feature === 'picture'
              ? [
                  { type: 'text', text: turn.text },
                  { type: 'image_url', image_url: { url } },
                ]
              : turn.text,
        });
      const json_schema = { name: 'document', strict: true, schema: documentSchema };
      const look = { name: 'look', description: 'Looks at a place.', parameters: lookSchema };
      const thinks = wantsThoughts(turn) && (place.api !== 'chat' || place.thinks !== false);
      const body = {
        ...{ model: place.model, messages: [...messages], max_completion_tokens: limitOf(turn), stream },
        tools: [{ type: 'function', function: look }],
        ...(stream && { stream_options: { include_usage: true } }),
        ...(thinks && { reasoning_effort: 'high' }),
        ...(turn.feature === 'structured' && { response_format: { type: 'json_schema', json_schema } }),
      };
      return { path: '/v1/chat/completions', body };
    },
    answered: (answer) => {
      const choices = Array.isArray(answer)
        ? answer.flatMap((chunk: Fields) => fieldsIn(chunk['choices']))
        : fieldsIn((answer as Fields)['choices']);
      const message = choices.reduce<Fields>(
        (whole, choice) => merge(whole, fieldsAt(choice, Array.isArray(answer) ? 'delta' : 'message')),
        {},
      );
      const toolCalls = fieldsIn(message['tool_calls']).map(({ index: _index, ...call }) => call);
      messages.push({
        ...{ role: 'assistant', content: null, ...message },
        ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
      });
      calls = toolCalls.map((call) => ({
        id: String(call['id']),
        name: String(fieldsAt(call, 'function')['name']),
        input: JSON.parse(String(fieldsAt(call, 'function')['arguments'])) as unknown,
      }));
      const { content } = message;
      const stop = wordsIn(choices, 'finish_reason');
      return { texts: typeof content === 'string' && content !== '' ? [content] : [], calls, stop };
    },
  };
}

function responsesClient(): RawClient {
  const input: Fields[] = [];
  let calls: Reply['calls'] = [];
  return {
    request: (turn, place, stream) => {
      for (const { id, text } of turn.feature === 'results' ? resultsOf(calls) : [])
        input.push({ type: 'function_call_output', call_id: id, output: text });
      if (turn.feature === 'system') input.push({ role: 'developer', content: 'Be brief from here on.' });
      const image = { type: 'input_image', image_url: `data:image/png;base64,${jpeg}` };
      if (turn.text !== null)
        input.push({
          role: 'user',
          content: [
            { type: 'input_text', text: turn.text },
            ...(turn.feature === 'picture' ? [{ ...image, detail: 'auto' }] : []),
          ],
        });
      const format = { type: 'json_schema', name: 'document', strict: true, schema: documentSchema };
      const look = { name: 'look', description: 'Looks at a place.', parameters: lookSchema, strict: false };
      const body = {
        ...{ model: place.model, instructions: system, input: [...input], stream, store: false },
        ...{ max_output_tokens: limitOf(turn), include: ['reasoning.encrypted_content'] },
        tools: [{ type: 'function', ...look }],
        ...(wantsThoughts(turn) && { reasoning: { effort: 'high', summary: 'auto' } }),
        ...(turn.feature === 'structured' && { text: { format } }),
      };
      return { path: '/v1/responses', body };
    },
    answered: (answer) => {
      const last = Array.isArray(answer) ? fieldsAt(answer.at(-1), 'response') : (answer as Fields);
      const output = fieldsIn(last['output']);
      input.push(...output);
      calls = output
        .filter(({ type }) => type === 'function_call')
        .map(({ call_id: id, name, arguments: text }) => ({
          id: String(id),
          name: String(name),
          input: JSON.parse(String(text)) as unknown,
        }));
      const texts = output
        .filter(({ type }) => type === 'message')
        .flatMap(({ content }) => fieldsIn(content).map(({ text }) => String(text)));
      return { texts, calls, stop: String(last['status']) };
    },
  };
}

/** The fields by which a client of Anthropic's, which knows the model's rules, has it think. */
function thinkingFor(place: Place): Fields {
  if (place.api !== 'messages' || place.thinks === 'effort')
    return { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };
  return { thinking: { type: 'enabled', budget_tokens: 1_024 } };
}

/** The blocks of a stream of messages. */
function blocksOf(events: readonly Fields[]): Fields[] {
  const blocks: Fields[] = [];
  const inputs = new Map<number, string>();
  for (const event of events) {
    const at = Number(event['index']);
    if (event['type'] === 'content_block_start') blocks[at] = { ...fieldsAt(event, 'content_block') };
    if (event['type'] !== 'content_block_delta') continue;
    const { type: _type, partial_json: json, ...delta } = fieldsAt(event, 'delta');
    if (typeof json === 'string') inputs.set(at, (inputs.get(at) ?? '') + json);
    else merge(blocks[at] ?? {}, delta);
  }
  for (const [at, text] of inputs) {
    const block = blocks[at];
    if (block !== undefined && text !== '') block['input'] = JSON.parse(text) as unknown;
  }
  return blocks;
}

function messagesClient(): RawClient {
  const messages: Fields[] = [];
  let calls: Reply['calls'] = [];
  return {
    request: (turn, place, stream) => {
      const results = turn.feature === 'results' ? resultsOf(calls) : [];
      const source = { type: 'base64', media_type: 'image/jpeg', data: jpeg };
      const content = [
        ...results.map(({ id, text }) => ({ type: 'tool_result', tool_use_id: id, content: text })),
        ...(turn.text === null ? [] : [{ type: 'text', text: turn.text }]),
        ...(turn.feature === 'picture' ? [{ type: 'image', source }] : []),
      ];
      messages.push({ role: 'user', content });
      const format = { type: 'json_schema', schema: documentSchema };
      const body = {
        ...{ model: place.model, system, messages: [...messages], max_tokens: limitOf(turn), stream },
        tools: [{ name: 'look', description: 'Looks at a place.', input_schema: lookSchema }],
        ...(wantsThoughts(turn) && thinkingFor(place)),
        ...(turn.feature === 'structured' && { output_config: { format } }),
      };
      return { path: '/v1/messages', body };
    },
    answered: (answer) => {
      const content = Array.isArray(answer) ? blocksOf(answer) : fieldsIn((answer as Fields)['content']);
      messages.push({ role: 'assistant', content });
      calls = content
        .filter(({ type }) => type === 'tool_use')
        .map(({ id, name, input }) => ({ id: String(id), name: String(name), input }));
      const texts = content.flatMap(({ type, text }) => (type === 'text' ? [String(text)] : []));
      const ends = Array.isArray(answer) ? answer.map((each) => fieldsAt(each, 'delta')) : [answer as Fields];
      const stop = wordsIn(ends, 'stop_reason');
      return { texts, calls, stop };
    },
  };
}

/** Parts of an answer, with texts that follow each other as one. */
function joinedParts(parts: readonly Fields[]): Fields[] {
  const joined: Fields[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const isText = (each: Fields | undefined): boolean =>
      typeof each?.['text'] === 'string' && each['thoughtSignature'] === undefined;
    const follows = isText(last) && isText(part) && last?.['thought'] === part['thought'];
    if (follows && last !== undefined) last['text'] = `${String(last['text'])}${String(part['text'])}`;
    else joined.push({ ...part });
  }
  return joined.filter(({ text, thoughtSignature }) => text !== '' || thoughtSignature !== undefined);
}

function geminiClient(): RawClient {
  const contents: Fields[] = [];
  let calls: Reply['calls'] = [];
  return {
    request: (turn, place, stream) => {
      const results = turn.feature === 'results' ? resultsOf(calls) : [];
      const inlineData = { mimeType: 'image/jpeg', data: jpeg };
      const parts = [
        ...results.map(({ id, name, text }) => ({
          functionResponse: { ...(id !== '' && { id }), name, response: { output: text } },
        })),
        ...(turn.text === null ? [] : [{ text: turn.text }]),
        ...(turn.feature === 'picture' ? [{ inlineData }] : []),
      ];
      contents.push({ role: 'user', parts });
      const isStructured = turn.feature === 'structured';
      const format = { responseMimeType: 'application/json', responseJsonSchema: documentSchema };
      const look = { name: 'look', description: 'Looks at a place.', parametersJsonSchema: lookSchema };
      const body = {
        ...{ systemInstruction: { parts: [{ text: system }] }, contents: [...contents] },
        ...(!isStructured && { tools: [{ functionDeclarations: [look] }] }),
        generationConfig: {
          maxOutputTokens: limitOf(turn),
          ...(wantsThoughts(turn) && { thinkingConfig: { includeThoughts: true } }),
          ...(isStructured && format),
        },
      };
      const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      return { path: `/v1beta/models/${place.model}:${method}`, body };
    },
    answered: (answer) => {
      const candidates = (Array.isArray(answer) ? answer : [answer]).flatMap((each: Fields) =>
        fieldsIn(each['candidates']),
      );
      const parts = joinedParts(candidates.flatMap((each) => fieldsIn(fieldsAt(each, 'content')['parts'])));
      contents.push({ role: 'model', parts });
      calls = parts
        .filter(({ functionCall }) => isFields(functionCall))
        .map((part) => fieldsAt(part, 'functionCall'))
        .map(({ id = '', name, args }) => ({ id: String(id), name: String(name), input: args }));
      const texts = parts.flatMap(({ text, thought }) =>
        typeof text === 'string' && thought !== true ? [text] : [],
      );
      const stop = wordsIn(candidates, 'finishReason');
      return { texts, calls, stop };
    },
  };
}

/** A new conversation in each dialect. */
export const rawClients: Readonly<Record<DialectName, () => RawClient>> = {
  chat: chatClient,
  responses: responsesClient,
  messages: messagesClient,
  gemini: geminiClient,
};
