import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isFields } from '@gatehouse/kit/fields';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { isAnswer, type ModelFacts, type TranslatedApi } from './api.ts';
import { stopAfter, type Answer } from './answer.ts';
import { openAiChatTranslation } from '../openai-chat/translation.ts';
import { bedrockConverseTranslation } from '../bedrock-converse/translation.ts';
import { ConverseWriter, passedFrames, readRequest, writeAnswer } from '@gatehouse/test/converse-provider';
import type { Conversation, MediaPart, Part, Turn } from './conversation.ts';
import { geminiTranslation } from '../gemini/translation.ts';
import { JsonSource, writeJson } from '../wire/json-text.ts';
import { DroppedFields } from './dropped-fields.ts';
import { anthropicMessagesTranslation } from '../anthropic-messages/translation.ts';
import { openAiResponsesTranslation } from '../openai-responses/translation.ts';
import { noUsage } from '../usage/usage.ts';
import { FrameSplitter } from '../wire/sse-frames.ts';
import type { StreamEvent } from './stream-events.ts';
import { answerOf, answers, conversations, eventsOf, facts } from '@gatehouse/test/translation-samples';

type Api = Omit<TranslatedApi, 'formatError' | 'thoughtIds'>;

const apis: readonly (readonly [string, Api])[] = [
  ['chat', openAiChatTranslation],
  ['responses', openAiResponsesTranslation],
  ['messages', anthropicMessagesTranslation],
  ['gemini', geminiTranslation],
];
const claude: ModelFacts = { ...facts, name: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0' };
/** Converse as its provider reads and writes it; no client does. */
const bedrock: Api = {
  fieldNames: openAiChatTranslation.fieldNames,
  readRequest: (_fields, _source, _left) => {
    throw new Error('it is read by its text');
  },
  rules: bedrockConverseTranslation.rules,
  writeRequest: (conversation, _facts, dropped) =>
    bedrockConverseTranslation.writeRequest(conversation, claude, dropped),
  readAnswer: bedrockConverseTranslation.readAnswer,
  writeAnswer,
  eventSource: () => bedrockConverseTranslation.eventSource(claude),
  eventWriter: () => {
    const writer = new ConverseWriter();
    return { write: (event) => writer.write(event).flatMap(passedFrames) };
  },
};
const upstreams: typeof apis = [...apis, ['converse', bedrock]];
/** For each pair: there are many. */
const runs = { numRuns: 40 };
const pairs = apis.flatMap(([from, first]) =>
  upstreams.map(([to, second]) => [from, to, first, second] as const),
);

function throughRequest(api: Api, conversation: Conversation): Conversation {
  const dropped = new DroppedFields(api.fieldNames);
  const body = Buffer.from(writeJson(atOnce(api.writeRequest(conversation, facts, dropped))));
  expect(dropped.ignored).toEqual([]);
  if (api === bedrock) return { ...readRequest(body), stream: conversation.stream };
  const fields = JSON.parse(body.toString()) as Record<string, unknown>;
  const read = atOnce(api.readRequest(fields, new JsonSource(body), dropped));
  expect(dropped.ignored).toEqual([]);
  return read;
}

function throughAnswer(api: Api, answer: Answer): Answer {
  const body = Buffer.from(api.writeAnswer(answer));
  const fields: unknown = JSON.parse(body.toString());
  const read = isFields(fields) ? api.readAnswer(fields, new JsonSource(body), facts) : {};
  if (!isAnswer(read)) throw new Error('the answer is an error');
  return read;
}

/** An image or a file without its place, and without the type that an address shows. */
function plainMedia(part: MediaPart): MediaPart {
  const { source } = part;
  return { ...part, at: '', source: 'url' in source ? { url: source.url } : source };
}

/** The meaning of a conversation: texts that follow one another are one, and places in requests don't count. */
function meaning(conversation: Conversation): unknown {
  const turns: Turn[] = [];
  for (const { role, parts } of conversation.turns) {
    const last = turns.at(-1);
    const placeless = parts.map((part) => ('at' in part ? plainMedia(part) : part));
    if (last?.role === role && role !== 'assistant') last.parts.push(...placeless);
    else turns.push({ role, parts: placeless });
  }
  const output = conversation.output === null ? null : { ...conversation.output, name: null, isStrict: null };
  const tools = conversation.tools.map((tool) => ({ ...tool, isStrict: tool.isStrict ?? false }));
  return { ...conversation, turns, tools, output, choice: conversation.choice ?? 'auto' };
}

/**
 * Responses have no sequences that stop them. Gemini has neither ids, nor system texts in the middle, nor serial calls.
 * Converse has no images by address, and no tools where none may be called and none was.
 */
function sayable(conversation: Conversation, ...on: readonly Api[]): Conversation {
  const stop = on.includes(openAiResponsesTranslation) ? [] : conversation.stop;
  const said = on.includes(bedrock) ? ofConverse(conversation) : conversation;
  if (!on.includes(geminiTranslation)) return { ...said, stop };
  const turns = said.turns.filter(({ role }, index) => role !== 'system' || index === 0);
  return { ...said, stop, parallel: null, stream: false, turns: numbered(turns) };
}

function ofConverse(conversation: Conversation): Conversation {
  const turns = conversation.turns.map((turn) => ({ ...turn, parts: turn.parts.map(withData) }));
  const hasCalls = turns.some(({ parts }) => parts.some(({ kind }) => kind === 'call'));
  const choice = conversation.choice === 'none' && !hasCalls ? null : conversation.choice;
  return { ...conversation, turns, choice };
}

function withData(part: Part): Part {
  if (part.kind !== 'image' || !('url' in part.source)) return part;
  return { ...part, source: { data: 'iVBORw0KGgo=', mediaType: 'image/png' } };
}

/** Ids as they are given to calls that have none. */
function numbered(turns: readonly Turn[]): Turn[] {
  const calls = turns.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === 'call' ? [part.id] : [])),
  );
  const idOf = (id: string): string => `call_${calls.indexOf(id) + 1}`;
  return turns.map((turn) => ({
    ...turn,
    parts: turn.parts.map((part) => {
      if (part.kind === 'call') return { ...part, id: idOf(part.id) };
      return part.kind === 'result' ? { ...part, callId: idOf(part.callId) } : part;
    }),
  }));
}

describe('a conversation', () => {
  it.each(upstreams)('means the same once it is written and read again in %s', (_name, api) => {
    fc.assert(
      fc.property(conversations, (any) => {
        const conversation = sayable(any, api);
        expect(meaning(throughRequest(api, conversation))).toEqual(meaning(conversation));
      }),
    );
  });

  it.each(pairs)('means the same on its way from %s to %s', (_from, _to, first, second) => {
    fc.assert(
      fc.property(conversations, (any) => {
        const conversation = sayable(any, first, second);
        const read = throughRequest(second, throughRequest(first, conversation));
        expect(meaning(read)).toEqual(meaning(conversation));
      }),
      runs,
    );
  });
});

/** The content of an answer: ids and origins of signatures differ between APIs. */
function saying({ parts, stop, usage }: Answer): unknown {
  return {
    parts: parts.map((part) => (part.kind === 'thinking' ? { ...part, signature: null } : part)),
    stop: stopAfter(stop, new Set(parts.map(({ kind }) => kind))),
    usage,
  };
}

/** Converse reports no tokens of reasoning. */
function sayableAnswer(answer: Answer, ...on: readonly Api[]): Answer {
  if (answer.usage === null || !on.includes(bedrock)) return answer;
  return { ...answer, usage: { ...answer.usage, reasoningTokens: 0 } };
}

describe('an answer', () => {
  it.each(pairs)('says the same on its way from %s to %s', (_from, _to, first, second) => {
    fc.assert(
      fc.property(answers, (any) => {
        const answer = sayableAnswer(any, second);
        expect(saying(throughAnswer(second, throughAnswer(first, answer)))).toEqual(saying(answer));
      }),
    );
  });

  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });

  it.each(pairs)('says the same in a stream from %s to %s', (_from, _to, first, second) => {
    fc.assert(
      fc.property(answers, sizes, (any, each) => {
        const answer = sayableAnswer(any, second);
        let events: StreamEvent[] = eventsOf(answer, each);
        for (const api of [first, second]) {
          const [writer, source] = [api.eventWriter(), api.eventSource(facts)];
          const frames = events.flatMap((event) => (event.type === 'error' ? [] : writer.write(event)));
          events = [...frames.flatMap((frame) => source.read(frame)), ...source.end()];
        }
        const read = answerOf(events);
        expect(read.isWhole).toBe(true);
        expect(saying(read)).toEqual(saying(answer));
      }),
      runs,
    );
  });

  it.each(upstreams)('says the same in a stream of %s that is cut anywhere in two pieces', (_name, api) => {
    const answer: Answer = {
      ...{
        id: 'msg_1',
        model: 'm-1',
        serviceTier: null,
        broken: null,
        stop: { reason: 'calls', sequence: null },
      },
      parts: [
        { kind: 'thinking', text: 'hm', signature: null },
        { kind: 'text', text: 'Dürfen wir? 👩‍🚀' },
        {
          kind: 'call',
          id: 'call_1',
          name: 'f',
          argumentsText: '{"q":"é"}',
          isFreeform: false,
          namespace: null,
        },
        { kind: 'call', id: 'call_2', name: 'f', argumentsText: '{}', isFreeform: false, namespace: null },
      ],
      usage: { ...noUsage, inputTokens: 3, outputTokens: 2 },
    };
    const writer = api.eventWriter();
    const bytes = Buffer.concat(eventsOf(answer, [7]).flatMap((event) => writer.write(event)));
    for (let at = 0; at <= bytes.length; at += 1) {
      const splitter = new FrameSplitter();
      const frames = [bytes.subarray(0, at), bytes.subarray(at)].flatMap((piece) => splitter.push(piece));
      const source = api.eventSource(facts);
      const events = [...frames.flatMap((frame) => source.read(frame)), ...source.end()];
      expect(saying(answerOf(events))).toEqual(saying(answer));
    }
  });

  it.each(upstreams)('is not complete where a stream of %s ends early', (_name, api) => {
    fc.assert(
      fc.property(answers, fc.nat(), (answer, cut) => {
        const writer = api.eventWriter();
        const frames = eventsOf(answer, [5]).flatMap((event) => writer.write(event));
        const source = api.eventSource(facts);
        // Its last frames say that it has stopped.
        const kept = frames.slice(0, cut % (frames.length - 3));
        const events = [...kept.flatMap((frame) => source.read(frame)), ...source.end()];
        expect(answerOf(events).isWhole).toBe(false);
      }),
    );
  });
});
