import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { AwsEventSplitter, serverSentFrame } from '@gatehouse/dialects/wire/aws-event-frames';
import type { Answer, StopReason } from '@gatehouse/dialects/translation/answer';
import {
  noSampling,
  type Conversation,
  type MediaPart,
  type Part,
  type TextPart,
  type ThinkingPart,
  type Tool,
  type ToolChoice,
  type Turn,
} from '@gatehouse/dialects/translation/conversation';
import { numberIn, textIn } from '@gatehouse/dialects/translation/fields';
import { JsonSource, RawJson, writeJson } from '@gatehouse/dialects/wire/json-text';
import type { StreamEvent } from '@gatehouse/dialects/translation/stream-events';
import { awsFrame } from './aws-frames.ts';

/** Bedrock's side of Converse, as strict as Bedrock is with requests to Claude. For tests. */

export function eventFrame(name: string, payload: unknown): Buffer {
  const headers = { ':event-type': name, ':content-type': 'application/json', ':message-type': 'event' };
  return awsFrame(headers, payload);
}

/** The frames of a stream as the gateway passes them on. */
export function passedFrames(bytes: Buffer): Buffer[] {
  return new AwsEventSplitter().push(bytes).map(serverSentFrame);
}

const stopReasons: Readonly<Record<StopReason, string>> = {
  end: 'end_turn',
  length: 'max_tokens',
  calls: 'tool_use',
  sequence: 'stop_sequence',
  refusal: 'content_filtered',
  context: 'model_context_window_exceeded',
  pause: 'end_turn',
};

/** A whole answer, as Bedrock writes it. */
export function writeAnswer({ parts, stop, usage }: Answer): string {
  const content = parts.map((part) => {
    if (part.kind === 'call')
      return {
        toolUse: { toolUseId: part.id, name: part.name, input: new RawJson(part.argumentsText) },
      };
    return part.kind === 'thinking' ? { reasoningContent: thoughtOf(part) } : { text: part.text };
  });
  return writeJson({
    output: { message: { role: 'assistant', content } },
    ...stopFields(stop),
    ...(usage !== null && { usage: writeUsage(usage) }),
    metrics: { latencyMs: 1 },
  });
}

function thoughtOf({ text, signature }: ThinkingPart): Fields {
  return signature?.isRedacted === true
    ? { redactedContent: signature.text }
    : { reasoningText: { text, ...(signature !== null && { signature: signature.text }) } };
}

function stopFields({ reason, sequence }: Answer['stop']): Fields {
  return {
    stopReason: stopReasons[reason],
    ...(sequence !== null && { additionalModelResponseFields: { stop_sequence: sequence } }),
  };
}

function writeUsage(usage: NonNullable<Answer['usage']>): Fields {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = usage;
  return {
    inputTokens: inputTokens - cachedInputTokens - cacheWriteTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cacheReadInputTokens: cachedInputTokens,
    cacheWriteInputTokens: cacheWriteTokens,
  };
}

/** Writes the frames of a stream. Texts and thoughts have no event at their start. */
export class ConverseWriter {
  #index = -1;
  #kind: 'text' | 'thinking' | 'call' = 'text';

  write(event: StreamEvent): Buffer[] {
    switch (event.type) {
      case 'start':
        return [eventFrame('messageStart', { role: 'assistant', p: 'abc' })];
      case 'open': {
        this.#index += 1;
        this.#kind = event.part.kind === 'refusal' ? 'text' : event.part.kind;
        if (event.part.kind !== 'call') return [];
        const toolUse = { toolUseId: event.part.id, name: event.part.name };
        return [eventFrame('contentBlockStart', { contentBlockIndex: this.#index, start: { toolUse } })];
      }
      case 'delta':
        return [this.#delta(deltaOf(this.#kind, event.text))];
      case 'close': {
        const { signature } = event;
        const sealed =
          signature?.isRedacted === true
            ? { redactedContent: signature.text }
            : { signature: signature?.text };
        return [
          ...(signature === null ? [] : [this.#delta({ reasoningContent: sealed })]),
          eventFrame('contentBlockStop', { contentBlockIndex: this.#index }),
        ];
      }
      case 'stop':
        return [eventFrame('messageStop', stopFields(event.stop))];
      case 'usage':
        return [eventFrame('metadata', { usage: writeUsage(event.usage), metrics: { latencyMs: 1 } })];
      default:
        return [];
    }
  }

  #delta(delta: Fields): Buffer {
    return eventFrame('contentBlockDelta', { contentBlockIndex: this.#index, delta });
  }
}

function deltaOf(kind: 'text' | 'thinking' | 'call', text: string): Fields {
  if (kind === 'call') return { toolUse: { input: text } };
  return kind === 'thinking' ? { reasoningContent: { text } } : { text };
}

/** The conversation in a request. Throws for one that Bedrock refuses. */
export function readRequest(body: Buffer): Conversation {
  const fields = fieldsOf(JSON.parse(body.toString()));
  const source = new JsonSource(body);
  const messages = source.member('messages');
  const turns = listOf(fields['messages']).map((message, index): Turn => {
    const { role, content, ...others } = fieldsOf(message);
    refuseIf(Object.keys(others).length > 0, 'a message has unknown fields');
    refuseIf(role !== 'user' && role !== 'assistant' && role !== 'system', 'a message has no role');
    const blocks = messages?.element(index)?.member('content') ?? null;
    const parts = listOf(content).map((block, at) => partOf(fieldsOf(block), blocks?.element(at) ?? null));
    refuseIf(parts.length === 0, 'a message has no content');
    return { role: role as Turn['role'], parts };
  });
  refuseIf(turns[0]?.role !== 'user', 'A conversation must start with a user message.');
  refuseIf(
    turns.some(({ role }, index) => role === turns[index + 1]?.role),
    'A conversation must alternate between user and assistant roles.',
  );
  refuseUnansweredCalls(turns);
  const system = listOf(fields['system']).map((block) => textPart(fieldsOf(block)['text']));
  const inference = fieldsOf(fields['inferenceConfig'] ?? {});
  const additional = fieldsOf(fields['additionalModelRequestFields'] ?? {});
  const tools = toolsOf(fields['toolConfig'], source.member('toolConfig'));
  refuseIf(
    tools.length === 0 && turns.some(({ parts }) => parts.some(({ kind }) => /call|result/.test(kind))),
    'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
  );
  const choice = fieldsOf(additional['tool_choice'] ?? {});
  return {
    turns: system.length === 0 ? turns : [{ role: 'system', parts: system }, ...turns],
    tools,
    choice: choice['type'] === 'none' ? 'none' : choiceOf(fields['toolConfig']),
    parallel: choice['disable_parallel_tool_use'] === true ? false : null,
    maxTokens: numberIn(inference['maxTokens']),
    stop: listOf(inference['stopSequences']).map(String),
    sampling: { ...noSampling, temperature: numberIn(inference['temperature']) },
    output: outputOf(fields['outputConfig']),
    reasoning: null,
    stream: false,
  };
}

function fieldsOf(value: unknown): Fields {
  if (!isFields(value)) throw new Error(`not an object: ${JSON.stringify(value)}`);
  return value;
}

function refuseIf(isWrong: boolean, message: string): void {
  if (isWrong) throw new Error(`ValidationException: ${message}`);
}

/** Each message with calls is followed by one with their results. */
function refuseUnansweredCalls(turns: readonly Turn[]): void {
  turns.forEach(({ parts }, index) => {
    const calls = parts.flatMap((part) => (part.kind === 'call' ? [part.id] : []));
    const results = (turns[index + 1]?.parts ?? []).flatMap((part) =>
      part.kind === 'result' ? [part.callId] : [],
    );
    refuseIf(
      calls.some((id) => !results.includes(id)),
      'Expected toolResult blocks for the toolUse blocks.',
    );
  });
}

function textPart(text: unknown): TextPart {
  refuseIf(typeof text !== 'string' || text.trim() === '', 'The text field in the ContentBlock is blank.');
  return { kind: 'text', text: String(text) };
}

function partOf(block: Fields, source: JsonSource | null): Part {
  const [[name, value] = ['', null], ...others] = Object.entries(block);
  refuseIf(others.length > 0, 'a block has several members');
  if (name === 'text') return textPart(value);
  const fields = fieldsOf(value);
  switch (name) {
    case 'toolUse': {
      refuseIf(!isFields(fields['input']), 'the input of a tool is no object');
      const argumentsText = source?.member('toolUse')?.textOf('input') ?? '';
      const called = { id: idOf(fields['toolUseId']), name: nameOf(fields['name']) };
      return { kind: 'call', ...called, argumentsText, isFreeform: false, namespace: null };
    }
    case 'toolResult':
      return {
        kind: 'result',
        callId: idOf(fields['toolUseId']),
        parts: listOf(fields['content']).map((each) => plainPart(fieldsOf(each))),
        isError: fields['status'] === 'error',
      };
    case 'reasoningContent': {
      const { text, signature } = fieldsOf(fields['reasoningText'] ?? {});
      const redacted = textIn(fields['redactedContent']);
      return {
        kind: 'thinking',
        text: textIn(text) ?? '',
        signature: {
          origin: 'anthropic',
          text: redacted ?? textIn(signature) ?? '',
          isRedacted: redacted !== null,
        },
      };
    }
    default:
      return plainPart(block);
  }
}

function plainPart(block: Fields): TextPart | MediaPart {
  if (typeof block['text'] === 'string') return textPart(block['text']);
  const [[kind, value] = ['', null]] = Object.entries(block);
  const { format, name, source } = fieldsOf(value);
  const data = fieldsOf(source)['bytes'];
  refuseIf(typeof data !== 'string' || typeof format !== 'string', 'a block has no bytes or no format');
  if (kind === 'image')
    return {
      kind: 'image',
      source: { data: String(data), mediaType: `image/${String(format)}` },
      name: null,
      at: '',
    };
  refuseIf(kind !== 'document', `there is no block ${kind}`);
  refuseIf(!/^(?!.* {2})[A-Za-z0-9 ()[\]-]{1,200}$/.test(String(name)), 'a document has a wrong name');
  return {
    kind: 'file',
    source: { data: String(data), mediaType: `application/${String(format)}` },
    name: String(name),
    at: '',
  };
}

function idOf(id: unknown): string {
  refuseIf(typeof id !== 'string' || !/^[\w-]{1,64}$/.test(id), 'an id of a tool use is wrong');
  return String(id);
}

function nameOf(name: unknown): string {
  refuseIf(typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name), 'a name of a tool is wrong');
  return String(name);
}

function toolsOf(config: unknown, source: JsonSource | null): Tool[] {
  if (config === undefined) return [];
  const { tools } = fieldsOf(config);
  refuseIf(listOf(tools).length === 0, 'toolConfig has no tools');
  const texts = source?.member('tools');
  return listOf(tools).map((tool, index): Tool => {
    const { name, description, strict } = fieldsOf(fieldsOf(tool)['toolSpec']);
    refuseIf(description === '', 'a tool has an empty description');
    const schema = texts?.element(index)?.member('toolSpec')?.member('inputSchema')?.textOf('json') ?? null;
    return {
      ...{ name: nameOf(name), namespace: null, description: textIn(description), schemaJson: schema },
      ...{ isFreeform: false, isStrict: strict === true ? true : null },
    };
  });
}

function choiceOf(config: unknown): ToolChoice | null {
  const { toolChoice } = isFields(config) ? config : {};
  if (!isFields(toolChoice)) return null;
  if ('any' in toolChoice) return 'required';
  return 'auto' in toolChoice
    ? 'auto'
    : { name: nameOf(fieldsOf(toolChoice['tool'])['name']), namespace: null };
}

function outputOf(config: unknown): Conversation['output'] {
  const { textFormat } = isFields(config) ? config : {};
  if (!isFields(textFormat)) return null;
  const { schema, name } = fieldsOf(fieldsOf(textFormat['structure'])['jsonSchema']);
  refuseIf(typeof schema !== 'string', 'the schema is no text');
  return { kind: 'schema', name: textIn(name), schemaJson: String(schema), isStrict: true };
}
