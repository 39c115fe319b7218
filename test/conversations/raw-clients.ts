import type { DialectName } from '@gatehouse/contract/dialects';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { Place } from './plan.ts';
import {
  chatEffort,
  documentSchema,
  forcesCall,
  hosted,
  jpeg,
  limitOf,
  lookSchema,
  resultsOf,
  system,
  thinkingConfigFor,
  wantsThoughts,
  type Reply,
  type Turn,
} from './turns.ts';

/** A request, ready to send. */
export interface Sending {
  path: string;
  body: Fields;
}

/** The requests and the history of a client, in the shapes of its dialect. */
export interface RawClient {
  /** Adds the turn to the conversation. */
  request: (turn: Turn, place: Place, stream: boolean) => Sending;
  /** Adds the answer, which is the body or the events of a stream. */
  answered: (answer: Fields | readonly Fields[]) => Reply;
}

const fieldsIn = (value: unknown): Fields[] => listOf(value).filter(isFields);
const fieldsAt = (value: unknown, name: string): Fields => {
  const member = isFields(value) ? value[name] : undefined;
  return isFields(member) ? member : {};
};
/** Texts under a name in the entries of a list. */
const textsIn = (list: readonly Fields[], name: string): string[] =>
  list.flatMap((each) => (typeof each[name] === 'string' ? [each[name]] : []));

/** Whether an answer ended at its limit, so that a call in it may be cut: clients neither execute it nor send it back. */
const isCut = (stop: string): boolean => /length|incomplete|max_tokens|MAX_TOKENS/.test(stop);

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

const page = { url: 'https://example.com/gate', title: 'The gate' };
const citation = { type: 'url_citation', url_citation: { ...page, start_index: 0, end_index: 4 } };
const hostedItems: readonly Fields[] = [
  {
    ...{ type: 'web_search_call', id: 'ws_6821', status: 'completed' },
    action: { type: 'search', query: 'gate' },
  },
  {
    ...{ type: 'message', id: 'msg_6822', role: 'assistant', status: 'completed' },
    content: [{ type: 'output_text', text: hosted.answer, annotations: [] }],
  },
];
const hostedBlocks: readonly Fields[] = [
  { type: 'server_tool_use', id: 'srvtoolu_6821', name: 'web_search', input: { query: 'gate' } },
  {
    ...{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_6821' },
    content: [{ type: 'web_search_result', ...page, encrypted_content: 'x', page_age: null }],
  },
  { type: 'text', text: hosted.answer },
];
const hostedParts: readonly Fields[] = [
  { executableCode: { language: 'PYTHON', code: 'print("old")' } },
  { codeExecutionResult: { outcome: 'OUTCOME_OK', output: 'old' } },
  { text: hosted.answer },
];

function chatClient(): RawClient {
  const messages: Fields[] = [{ role: 'system', content: system }];
  let calls: Reply['calls'] = [];
  return {
    request: (turn, place, stream) => {
      for (const { id, text } of turn.feature === 'results' ? resultsOf(calls) : [])
        messages.push({ role: 'tool', tool_call_id: id, content: text });
      if (turn.feature === 'hosted')
        messages.push(
          { role: 'user', content: hosted.text },
          { role: 'assistant', content: hosted.answer, annotations: [citation] },
        );
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
      const effort = chatEffort(turn, place);
      const body = {
        ...{ model: place.model, messages: [...messages], max_completion_tokens: limitOf(turn), stream },
        tools: [{ type: 'function', function: look }],
        ...(stream && { stream_options: { include_usage: true } }),
        ...(effort !== null && { reasoning_effort: effort }),
        ...(turn.isForced === true && { tool_choice: 'required' }),
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
      const stop = textsIn(choices, 'finish_reason').join(' ');
      const { tool_calls: written, content = null, ...others } = message;
      const toolCalls = isCut(stop) ? [] : fieldsIn(written).map(({ index: _index, ...call }) => call);
      messages.push({
        ...{ role: 'assistant', ...others, content: content ?? (toolCalls.length > 0 ? null : '') },
        ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
      });
      calls = toolCalls.map((call) => ({
        id: String(call['id']),
        name: String(fieldsAt(call, 'function')['name']),
        input: JSON.parse(String(fieldsAt(call, 'function')['arguments'])) as unknown,
      }));
      const ids = textsIn(Array.isArray(answer) ? answer.slice(0, 1) : [answer as Fields], 'id');
      return { texts: typeof content === 'string' && content !== '' ? [content] : [], calls, stop, ids };
    },
  };
}

function responsesClient(): RawClient {
  const input: Fields[] = [];
  const image = { type: 'input_image', image_url: `data:image/png;base64,${jpeg}`, detail: 'auto' };
  let calls: Reply['calls'] = [];
  return {
    request: (turn, place, stream) => {
      for (const { id, text } of turn.feature === 'results' ? resultsOf(calls) : [])
        input.push({
          ...{ type: 'function_call_output', call_id: id },
          output: [{ type: 'input_text', text }, image],
        });
      if (turn.feature === 'hosted') input.push({ role: 'user', content: hosted.text }, ...hostedItems);
      if (turn.feature === 'system') input.push({ role: 'developer', content: 'Be brief from here on.' });
      if (turn.text !== null)
        input.push({
          role: 'user',
          content: [{ type: 'input_text', text: turn.text }, ...(turn.feature === 'picture' ? [image] : [])],
        });
      const format = { type: 'json_schema', name: 'document', strict: true, schema: documentSchema };
      const look = { name: 'look', description: 'Looks at a place.', parameters: lookSchema, strict: false };
      const body = {
        ...{ model: place.model, instructions: system, input: [...input], stream, store: false },
        ...{ max_output_tokens: limitOf(turn), include: ['reasoning.encrypted_content'] },
        tools: [{ type: 'function', ...look }],
        ...(wantsThoughts(turn) && { reasoning: { effort: 'high', summary: 'auto' } }),
        ...(turn.isForced === true && { tool_choice: 'required' }),
        ...(turn.feature === 'structured' && { text: { format } }),
      };
      return { path: '/v1/responses', body };
    },
    answered: (answer) => {
      const last = Array.isArray(answer) ? fieldsAt(answer.at(-1), 'response') : (answer as Fields);
      const whole = last['status'] === 'completed';
      const output = fieldsIn(last['output']).filter(({ type }) => whole || type !== 'function_call');
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
      return { texts, calls, stop: String(last['status']), ids: textsIn([last, ...output], 'id') };
    },
  };
}

/** The fields by which a client of Anthropic's, which knows the model's rules, has it think. */
function thinkingFor(turn: Turn, place: Place): Fields {
  if (place.api === 'messages' && forcesCall(turn, place, 'messages')) return {};
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
    if (block !== undefined && text.endsWith('}')) block['input'] = JSON.parse(text) as unknown;
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
        ...results.map(({ id, text }) => ({
          ...{ type: 'tool_result', tool_use_id: id },
          content: [
            { type: 'text', text },
            { type: 'image', source },
          ],
        })),
        ...(turn.text === null ? [] : [{ type: 'text', text: turn.text }]),
        ...(turn.feature === 'picture' ? [{ type: 'image', source }] : []),
      ];
      if (turn.feature === 'hosted')
        messages.push({ role: 'user', content: hosted.text }, { role: 'assistant', content: hostedBlocks });
      messages.push({ role: 'user', content });
      const format = { type: 'json_schema', schema: documentSchema };
      const body = {
        ...{ model: place.model, system, messages: [...messages], max_tokens: limitOf(turn), stream },
        tools: [{ name: 'look', description: 'Looks at a place.', input_schema: lookSchema }],
        ...(wantsThoughts(turn) && thinkingFor(turn, place)),
        ...(forcesCall(turn, place, 'messages') && { tool_choice: { type: 'any' } }),
        ...(turn.feature === 'structured' && { output_config: { format } }),
      };
      return { path: '/v1/messages', body };
    },
    answered: (answer) => {
      const ends = Array.isArray(answer) ? answer.map((each) => fieldsAt(each, 'delta')) : [answer as Fields];
      const stop = textsIn(ends, 'stop_reason').join(' ');
      const blocks = Array.isArray(answer) ? blocksOf(answer) : fieldsIn((answer as Fields)['content']);
      const content = blocks.filter(({ type }) => type !== 'tool_use' || !isCut(stop));
      if (content.length > 0) messages.push({ role: 'assistant', content });
      calls = content
        .filter(({ type }) => type === 'tool_use')
        .map(({ id, name, input }) => ({ id: String(id), name: String(name), input }));
      const texts = content.flatMap(({ type, text }) => (type === 'text' ? [String(text)] : []));
      const begun = Array.isArray(answer)
        ? answer.map((each) => fieldsAt(each, 'message'))
        : [answer as Fields];
      return { texts, calls, stop, ids: textsIn(begun, 'id') };
    },
  };
}

/** Parts of an answer, with texts that follow each other as one, which may be signed at its first piece. */
function joinedParts(parts: readonly Fields[]): Fields[] {
  const joined: Fields[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const isText = (each: Fields | undefined): boolean => typeof each?.['text'] === 'string';
    const isPlain = isText(part) && part['thoughtSignature'] === undefined;
    const follows = isText(last) && isPlain && last?.['thought'] === part['thought'];
    if (follows && last !== undefined) last['text'] = `${String(last['text'])}${String(part['text'])}`;
    else joined.push({ ...part });
  }
  return joined.filter(({ text, thoughtSignature }) => text !== '' || thoughtSignature !== undefined);
}

/** Parts as Gemini CLI stores them: without thoughts, and with the name of a call in its id. */
function storedByGeminiCli(parts: readonly Fields[]): Fields[] {
  return parts
    .filter(({ thought }) => thought !== true)
    .map((part) => {
      const { functionCall: call } = part;
      if (!isFields(call) || typeof call['id'] !== 'string') return part;
      return { ...part, functionCall: { ...call, id: `${String(call['name'])}__${call['id']}` } };
    });
}

/** `stored`: the parts of an answer for the next request. */
function geminiClient(stored = (parts: Fields[]): Fields[] => parts): RawClient {
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
      if (turn.feature === 'hosted')
        contents.push(
          { role: 'user', parts: [{ text: hosted.text }] },
          { role: 'model', parts: hostedParts },
        );
      contents.push({ role: 'user', parts });
      const isStructured = turn.feature === 'structured';
      const format = { responseMimeType: 'application/json', responseJsonSchema: documentSchema };
      const look = { name: 'look', description: 'Looks at a place.', parametersJsonSchema: lookSchema };
      const body = {
        ...{ systemInstruction: { parts: [{ text: system }] }, contents: [...contents] },
        ...(!isStructured && { tools: [{ functionDeclarations: [look] }] }),
        ...(turn.isForced === true && { toolConfig: { functionCallingConfig: { mode: 'ANY' } } }),
        generationConfig: {
          maxOutputTokens: limitOf(turn),
          ...(wantsThoughts(turn) && { thinkingConfig: thinkingConfigFor(place.model) }),
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
      const pieces = candidates.flatMap((each) => fieldsIn(fieldsAt(each, 'content')['parts']));
      const parts = stored(joinedParts(pieces));
      if (parts.length > 0) contents.push({ role: 'model', parts });
      calls = parts
        .filter(({ functionCall }) => isFields(functionCall))
        .map((part) => fieldsAt(part, 'functionCall'))
        .map(({ id = '', name, args }) => ({ id: String(id), name: String(name), input: args }));
      const texts = parts.flatMap(({ text, thought }) =>
        typeof text === 'string' && thought !== true ? [text] : [],
      );
      const stop = textsIn(candidates, 'finishReason').join(' ');
      const first = Array.isArray(answer) ? answer.slice(0, 1) : [answer as Fields];
      return { texts, calls, stop, ids: textsIn(first as Fields[], 'responseId') };
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

/** A new conversation of Gemini CLI. */
export const geminiCli = (): RawClient => geminiClient(storedByGeminiCli);
