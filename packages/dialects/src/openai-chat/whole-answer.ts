import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { NoAnswer, type ReadOptions, type WholeAnswer, type ProviderError } from '../dialect.ts';
import { AnswerMeter } from '../usage/answer-meter.ts';
import { sampleOf } from '../usage/token-estimate.ts';
import { readServiceTier, usageIn } from '../usage/usage-reader.ts';
import { AnswerJson } from '../wire/answer-json.ts';
import { errorIn } from '../provider-errors.ts';
import { messageText, spokenText } from './message-text.ts';
import { errorInChoice, hasFinished } from './chunks.ts';
import { callsIn, extraContentOf } from './tool-calls.ts';
import {
  endingIn,
  hasMedia,
  type Answer,
  type AnswerPart,
  type Ending,
  type StopReason,
} from '../translation/answer.ts';
import type { ModelFacts } from '../translation/api.ts';
import type { ReasoningSignature } from '../translation/conversation.ts';
import { newCallId } from '../translation/call-ids.ts';
import { textIn, textOf } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import { chatOrigin } from '../translation/signatures.ts';
import { callOf, thoughtsOf } from './message-reader.ts';
import { maxReadChoices } from '../bounds.ts';

/** Members beside choices by which an answer is recognised. */
const memberNames = [
  ...[
    'model',
    'usage',
    'x_groq',
    'service_tier',
    'object',
    'type',
    'success',
    'code',
    'status',
    'status_code',
  ],
  ...['error', 'errors', 'detail', 'message', 'msg'],
];
const choiceNames = ['finish_reason', 'error', 'usage'];

/** Throws `NoAnswer`, so a broken provider does not count as a success. */
export function readWhole(
  bytes: Buffer,
  { tenantId, keepsText = false }: ReadOptions,
): WholeAnswer | Promise<WholeAnswer> {
  const whole = AnswerJson.whole(bytes, tenantId);
  return whole instanceof Promise
    ? whole.then(answerIn).then((read) => metered(read, keepsText))
    : metered(parsedAnswer(whole), keepsText);
}

interface ReadAnswer {
  answer: Fields;
  /** Characters of messages beyond their text as read. */
  unreadChars: number;
}

function metered(read: ReadAnswer | null, keepsText: boolean): WholeAnswer {
  if (read === null) throw new NoAnswer(null);
  const { answer, unreadChars } = read;
  const error = errorIn(answer);
  if (error !== null) throw new NoAnswer(error);
  const errors = listOf(answer['choices']).map((choice) => errorInChoice(Object(choice) as Fields));
  const broken = errors.find((each) => each !== null) ?? null;
  const messages = messagesOf(answer);
  if (messages === null) throw new NoAnswer(broken);
  const meter = new AnswerMeter(keepsText);
  meter.addModel(answer['model']);
  meter.addSpoken(spokenText(messages[0]?.['content']));
  const { beginning, chars } = sampleOf(messages.map(messageText).join('\n'));
  return {
    broken,
    responseModel: meter.responseModel,
    usage: usageIn(answer),
    serviceTier: readServiceTier(answer),
    answer: { beginning, chars: chars + unreadChars },
    text: meter.keptText,
  };
}

function parsedAnswer(whole: AnswerJson): ReadAnswer | null {
  const answer = whole.value();
  return isFields(answer) ? { answer, unreadChars: 0 } : null;
}

/** The relevant members, with the messages of the choices. */
async function answerIn(whole: AnswerJson): Promise<ReadAnswer | null> {
  if (whole.isParsed) return parsedAnswer(whole);
  const answer = await whole.fields(memberNames);
  if (answer === null) return null;
  // One too large for parsing is an error, too.
  const isError = answer['error'] === undefined && (await whole.member('error')) !== null;
  const choices = await (await whole.member('choices'))?.elements(maxReadChoices);
  const read = await Promise.all((choices ?? []).map(choiceIn));
  // Vectors and verdicts are the client's: one is enough.
  const data = await (await whole.member('data'))?.elements(1);
  const [verdict] = (await (await whole.member('results'))?.elements(1)) ?? [];
  return {
    answer: {
      ...answer,
      ...(isError && { error: true }),
      ...(choices && { choices: read.map(({ choice }) => choice) }),
      ...(data && { data }),
      ...(verdict && { results: [await verdict.fields(['flagged'])] }),
    },
    unreadChars: read.reduce((sum, { unreadChars }) => sum + unreadChars, 0),
  };
}

async function choiceIn(part: AnswerJson): Promise<{ choice: Fields; unreadChars: number }> {
  const choice = (await part.fields(choiceNames)) ?? {};
  const message = await part.member('message');
  const value = await message?.value();
  if (message === null || value !== undefined)
    return { choice: { ...choice, message: value }, unreadChars: 0 };
  const read = await largeMessage(message);
  return { choice: { ...choice, message: read.message }, unreadChars: read.unreadChars };
}

const textNames = ['content', 'refusal', 'reasoning_content', 'reasoning', 'tool_calls'];

/**
 * The text of a message too large for parsing, with pictures for example. A content too large for
 * this counts as it is written.
 */
async function largeMessage(part: AnswerJson): Promise<{ message: Fields; unreadChars: number }> {
  const message: Fields = {};
  let unreadChars = 0;
  for (const name of textNames) {
    const member = await part.member(name);
    if (member === null) continue;
    const value = await member.value();
    const beginning = value === undefined && name === 'content' ? member.beginning : '';
    message[name] = value ?? beginning;
    if (value === undefined) unreadChars += member.chars - beginning.length;
  }
  return { message, unreadChars };
}

/**
 * The messages of an answer's choices: an empty list for embeddings and moderations; null without at least one message,
 * embedding or verdict.
 */
function messagesOf({ choices, data, results }: Fields): Fields[] | null {
  const isOther = listOf(data).length > 0 || isVerdict(listOf(results)[0]);
  if (isOther && choices === undefined) return [];
  const messages = listOf(choices).map((choice) => (Object(choice) as Fields)['message']);
  return messages.some(isFields) ? messages.map((message) => (isFields(message) ? message : {})) : null;
}

function isVerdict(result: unknown): boolean {
  return isFields(result) && typeof result['flagged'] === 'boolean';
}

/** See `ProviderFormat`. */
export function readAnswer(fields: Fields, _source: JsonSource, facts: ModelFacts): Answer | ProviderError {
  const error = errorIn(fields);
  if (error !== null) return error;
  const [choice] = listOf(fields['choices']);
  if (!isFields(choice)) throw new Error('the answer has no choice');
  const { message } = choice;
  const broken = errorInChoice(choice);
  if (!isFields(message)) {
    if (broken !== null) return broken;
    throw new Error('the answer has no message');
  }
  const ending = endingOf(choice['finish_reason']);
  return {
    id: textOf(fields['id']),
    model: textIn(fields['model']) ?? facts.name,
    parts: partsOf(message, facts),
    stop: ending.stop,
    broken: broken ?? ending.broken ?? (saysMedia(message) ? hasMedia : null),
    usage: usageIn(fields),
    serviceTier: readServiceTier(fields),
  };
}

/** Whether a message has images, as OpenRouter and others write them. */
export function saysMedia({ images }: Fields): boolean {
  return listOf(images).length > 0;
}

function partsOf(message: Fields, facts: ModelFacts): AnswerPart[] {
  const { refusal } = message;
  const text = outputText(message);
  const refused = textOf(refusal);
  return [
    ...thoughtsOf(message).map((part) => ({ ...part, signature: signatureOf(facts) })),
    ...(text === '' ? [] : [{ kind: 'text', text } as const]),
    ...(refused === '' ? [] : [{ kind: 'refusal', text: refused } as const]),
    ...callsIn(message).flatMap((call) => [...signedThought(call, facts), callOf(call, newCallId())]),
  ];
}

/** Names the model behind thoughts without a signature. */
export function signatureOf({ name }: ModelFacts): ReasoningSignature {
  return { origin: chatOrigin(name), text: '', isRedacted: false };
}

/** The signature beside a call: of a thought without a text before it, as models of Google's own API have it. */
function signedThought(call: Fields, facts: ModelFacts): AnswerPart[] {
  const signature = callSignature(call, facts);
  return signature === null ? [] : [{ kind: 'thinking', text: '', signature }];
}

/** The signature beside a call; null without one. */
export function callSignature(call: Fields, facts: ModelFacts): ReasoningSignature | null {
  const text = extraContentOf(call);
  return text === null ? null : { ...signatureOf(facts), text };
}

/** The text of a message or a delta; the transcript of audio. */
export function outputText({ content, audio }: Fields): string {
  const { transcript } = Object(audio) as Fields;
  return spokenText(content) || textOf(transcript);
}

/** The end of a choice. Servers imitate OpenAI's words in part, and else use those of Anthropic, Google or their own. */
export function endingOf(reason: unknown): Ending {
  return hasFinished(reason)
    ? endingIn(String(reason).toLowerCase(), reasons)
    : { stop: { reason: 'end', sequence: null }, broken: null };
}

const reasons: Readonly<Record<string, StopReason>> = {
  ...{ stop: 'end', end: 'end', end_turn: 'end', eos: 'end', eos_token: 'end', complete: 'end' },
  ...{ completed: 'end', finished: 'end', stop_sequence: 'end' },
  ...{ length: 'length', max_tokens: 'length', max_output_tokens: 'length', model_length: 'length' },
  ...{ max_length: 'length', model_context_window_exceeded: 'context', context_length: 'context' },
  ...{ tool_calls: 'calls', tool_call: 'calls', function_call: 'calls', tool_use: 'calls' },
  ...{ content_filter: 'refusal', content_filtered: 'refusal', refusal: 'refusal', safety: 'refusal' },
  // Zhipu's.
  sensitive: 'refusal',
};
