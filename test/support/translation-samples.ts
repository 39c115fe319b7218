import fc from 'fast-check';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import type { ModelFacts } from '@gatehouse/dialects/translation/api';
import type { Answer, AnswerPart } from '@gatehouse/dialects/translation/answer';
import {
  noSampling,
  type CallPart,
  type Conversation,
  type MediaPart,
  type Part,
  type ResultPart,
  type TextPart,
  type Tool,
  type ToolChoice,
  type Turn,
} from '@gatehouse/dialects/translation/conversation';
import { markedSignature, withMac } from '@gatehouse/dialects/translation/signatures';
import type { OpenPart, StreamEvent, WrittenEvent } from '@gatehouse/dialects/translation/stream-events';

/** Conversations and answers that every API can express. For tests. */

/** Each tenant gets the same marks. */
const macs = KeyRing.parse(`k:${Buffer.alloc(32).toString('base64')}`).hasher('test');

export const facts: ModelFacts = {
  macs,
  ...{ account: null, name: 'm-1', maxOutputTokens: 64_000, reasoning: true },
};

/** A signature in the mark by which a client has it. */
export function marked(origin: string, signatureText: string): string {
  return markedSignature(withMac({ origin, text: signatureText, isRedacted: false }, facts.macs));
}

/** Line ends to many parsers, but not to those of event streams and JSON. */
const separator = fc.constantFrom('\u2028', '\u2029', '\u0085', '\v', '\f');
const grapheme = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 });
const unit = fc.oneof({ weight: 20, arbitrary: grapheme }, { weight: 1, arbitrary: separator });

/** Not blank: Anthropic refuses such texts. */
const text = fc
  .string({ unit, minLength: 1, maxLength: 40 })
  .map((said) => `${said}.`)
  .filter((said) => said.trim() !== '');
const textPart: fc.Arbitrary<TextPart> = text.map((said) => ({ kind: 'text', text: said }));
const image: fc.Arbitrary<MediaPart> = fc
  .oneof(
    fc.constant({ url: 'https://a.example/cat.png' }),
    fc.base64String({ minLength: 4, maxLength: 40 }).map((data) => ({ data, mediaType: 'image/png' })),
  )
  .map((source) => ({ kind: 'image', source, name: null, at: '' }));

/** Texts that parsing and printing would change: a number beyond 2^53, equal names, names that are numbers. */
const argumentsText = fc.oneof(
  fc.constant('{"id": 12345678901234567890, "2": 1.0, "1": 1e2, "q": 1, "q": "two"}'),
  fc
    .dictionary(fc.string({ minLength: 1, maxLength: 5 }), fc.jsonValue())
    .map((value) => JSON.stringify(value)),
);
const schemaJson =
  '{"type":"object","properties":{"2":{"type":"string"},"1":{"type":"integer","maximum":12345678901234567890}},"required":["2","1"],"additionalProperties":false}';
const toolName = fc.constantFrom('search', 'book', 'f');

const calls = fc
  .array(fc.record({ name: toolName, argumentsText }), { minLength: 1, maxLength: 3 })
  .map((list) =>
    list.map((call): CallPart => ({ kind: 'call', id: '', ...call, isFreeform: false, namespace: null })),
  );

/** A question, and the calls and results before its answer. */
const round = fc.record({
  asked: fc.array(fc.oneof(textPart, image), { minLength: 1, maxLength: 3 }),
  between: fc.option(text),
  calls: fc.option(calls),
  results: fc.tuple(textPart, textPart, textPart),
  said: text,
});

export const turns: fc.Arbitrary<Turn[]> = fc
  .record({ system: fc.option(text), rounds: fc.array(round, { minLength: 1, maxLength: 3 }) })
  .map(({ system, rounds }) => [
    ...(system === null ? [] : [systemTurn(system)]),
    ...rounds.flatMap(({ asked, between, calls: called, results, said }, index): Turn[] => {
      const numbered = (called ?? []).map((call, place) => ({ ...call, id: `call_${index}_${place}` }));
      return [
        { role: 'user', parts: asked },
        ...(between === null ? [] : [systemTurn(between)]),
        ...(numbered.length === 0
          ? []
          : [saidTurn(numbered), { role: 'user' as const, parts: resultsOf(numbered, results) }]),
        saidTurn([{ kind: 'text', text: said }]),
      ];
    }),
    { role: 'user', parts: [{ kind: 'text', text: 'Go on.' }] },
  ]);

function saidTurn(parts: Part[]): Turn {
  return { role: 'assistant', parts };
}

function systemTurn(said: string): Turn {
  return { role: 'system', parts: [{ kind: 'text', text: said }] };
}

function resultsOf(numbered: readonly CallPart[], texts: readonly TextPart[]): ResultPart[] {
  return numbered.map(({ id }, index) => ({
    ...{ kind: 'result', callId: id, isError: false },
    parts: texts.slice(index, index + 1),
  }));
}

const tools: readonly Tool[] = ['search', 'book', 'f'].map((name) => ({
  ...{ name, namespace: null, description: `Does ${name}`, schemaJson },
  ...{ isFreeform: false, isStrict: null },
}));

export const conversations: fc.Arbitrary<Conversation> = fc
  .record({
    turns,
    choice: fc.constantFrom<ToolChoice | null>(null, 'auto', 'none', 'required', {
      ...{ name: 'book', namespace: null },
    }),
    parallel: fc.constantFrom(null, false),
    maxTokens: fc.integer({ min: 16, max: 64_000 }),
    stop: fc.array(fc.string({ minLength: 1, maxLength: 5 }), { maxLength: 3 }),
    temperature: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    isSchema: fc.boolean(),
    stream: fc.boolean(),
  })
  .map(({ temperature, isSchema, ...others }) => ({
    ...others,
    tools: [...tools],
    // Switched off, so that parallel calls are allowed where none may be made.
    parallel: others.choice === 'none' ? null : others.parallel,
    sampling: { ...noSampling, temperature: temperature === null ? null : Math.abs(temperature) },
    output: isSchema ? { kind: 'schema', name: null, schemaJson, isStrict: true } : null,
    reasoning: null,
  }));

const answerCalls = calls.map((list) => list.map((call, place) => ({ ...call, id: `call_${place}` })));
export const answers: fc.Arbitrary<Answer> = fc
  .record({
    thought: fc.option(text),
    said: fc.option(text),
    called: fc.option(answerCalls),
    reason: fc.constantFrom('end', 'length', 'refusal' as const),
    input: fc.integer({ min: 1, max: 1_000 }),
    output: fc.integer({ min: 1, max: 1_000 }),
  })
  .map(({ thought, said, called, reason, input, output }) => {
    const parts: AnswerPart[] = [
      ...(thought === null ? [] : [{ kind: 'thinking', text: thought, signature: null } as const]),
      ...(said === null && called !== null ? [] : [{ kind: 'text', text: said ?? 'Yes.' } as const]),
      ...(called ?? []),
    ];
    return {
      ...{ id: 'msg_1', model: 'm-1', parts, serviceTier: null, broken: null },
      stop: { reason: called === null ? reason : 'calls', sequence: null },
      usage: {
        ...{ inputTokens: input + 7, cachedInputTokens: 3, cacheWriteTokens: 4 },
        ...{ outputTokens: output + 2, reasoningTokens: 2, estimated: false },
      },
    };
  });

/** The events of an answer, with its texts in pieces of these sizes. */
export function eventsOf(answer: Answer, sizes: readonly number[]): WrittenEvent[] {
  return [
    { type: 'start', id: answer.id, model: answer.model },
    ...answer.parts.flatMap((part) => eventsOfPart(part, sizes)),
    { type: 'stop', stop: answer.stop },
    ...(answer.usage === null
      ? []
      : [{ type: 'usage', usage: answer.usage, serviceTier: answer.serviceTier } as const]),
    { type: 'end' },
  ];
}

function eventsOfPart(part: AnswerPart, sizes: readonly number[]): WrittenEvent[] {
  const open: OpenPart = part.kind === 'call' ? part : { kind: part.kind };
  const whole = part.kind === 'call' ? part.argumentsText : part.text;
  return [
    { type: 'open', part: open },
    ...piecesOf(whole, sizes).map((piece) => ({ type: 'delta', text: piece }) as const),
    { type: 'close', signature: part.kind === 'thinking' ? part.signature : null },
  ];
}

function piecesOf(whole: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, n = 0; at < whole.length; n += 1) {
    const size = sizes[n % sizes.length] ?? 1;
    pieces.push(whole.slice(at, at + size));
    at += size;
  }
  return pieces;
}

/** The answer that events say. */
export function answerOf(events: readonly StreamEvent[]): Answer & { isWhole: boolean } {
  const answer: Answer & { isWhole: boolean } = {
    ...{ id: '', model: '', parts: [], usage: null, serviceTier: null, broken: null, isWhole: false },
    stop: { reason: 'end', sequence: null },
  };
  for (const event of events) {
    const last = answer.parts.at(-1);
    if (event.type === 'start') Object.assign(answer, { id: event.id, model: event.model });
    else if (event.type === 'open') answer.parts.push(begun(event.part));
    else if (event.type === 'delta' && last?.kind === 'call') last.argumentsText += event.text;
    else if (event.type === 'delta' && last !== undefined && last.kind !== 'call') last.text += event.text;
    else if (event.type === 'close' && last?.kind === 'thinking') last.signature = event.signature;
    else if (event.type === 'stop') answer.stop = event.stop;
    else if (event.type === 'usage') answer.usage = event.usage;
    else if (event.type === 'end') answer.isWhole = true;
    else if (event.type === 'error') answer.broken = event.error;
  }
  return answer;
}

function begun(part: OpenPart): AnswerPart {
  if (part.kind === 'call') return { ...part, argumentsText: '' };
  return part.kind === 'thinking'
    ? { kind: 'thinking', text: '', signature: null }
    : { kind: part.kind, text: '' };
}
