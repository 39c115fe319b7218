import type { AnswerChoice, ChatAnswer } from './chat-answer.ts';
import type { Fault } from './faults.ts';
import type { Frame } from './frame.ts';
import { oddFrames } from './odd-frames.ts';
import { argumentPieces } from './tool-calls.ts';
import { splitEvenly } from './values.ts';
import type { JsonObject } from './values.ts';

const fingerprint = 'fp_gatehouse_simulator';

/** The body of a unary response, without `usage` if the fault hides it. */
export function completionBody(answer: ChatAnswer, fault: Fault): string {
  return JSON.stringify({
    id: answer.id,
    object: 'chat.completion',
    created: answer.created,
    model: answer.model,
    choices: answer.choices.map((choice) => ({
      index: choice.index,
      message: messageOf(choice),
      logprobs: logprobsOf(answer, choice.pieces),
      finish_reason: choice.finishReason,
    })),
    usage: fault.no_usage === true ? undefined : answer.usage,
    service_tier: 'default',
    system_fingerprint: fingerprint,
  });
}

function messageOf(choice: AnswerChoice): JsonObject {
  const message: JsonObject = {
    role: 'assistant',
    content: choice.pieces?.join('') ?? null,
    refusal: null,
    annotations: [],
  };
  if (choice.toolCalls.length > 0) {
    message['tool_calls'] = choice.toolCalls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    }));
  }
  if (choice.functionCall !== null) {
    message['function_call'] = { name: choice.functionCall.name, arguments: choice.functionCall.arguments };
  }
  return message;
}

/** The events of a streamed response in order; choices and parallel calls are interleaved, as clients must expect. */
export function streamFrames(answer: ChatAnswer, includeUsage: boolean, fault: Fault): Frame[] {
  const usageField = includeUsage && fault.ignore_include_usage !== true;
  const encode = chunkEncoder(answer, usageField);
  const frames: Frame[] = [];
  const push = (kind: Frame['kind'], data: string, carriesUsage = false): void => {
    frames.push({ kind, data, carriesUsage });
  };
  for (const choice of answer.choices) push('opening', encode(choice.index, roleDelta(choice)));
  for (const [index, delta] of inTurns(answer)) push('content', encode(index, delta.delta, delta.logprobs));
  const inLastChunk = fault.usage_in_last_choice_chunk === true && fault.no_usage !== true;
  for (const choice of answer.choices) {
    const last = inLastChunk && choice === answer.choices.at(-1);
    const data = encode(choice.index, '{}', 'null', choice.finishReason);
    push('finish', last ? withUsage(data, answer) : data, last);
  }
  if (usageField && !inLastChunk && fault.no_usage !== true) {
    push('usage', withUsage(`${chunkHead(answer)}]}`, answer), true);
  }
  push('done', '[DONE]');
  return oddFrames(frames, fault);
}

type ChunkEncoder = (index: number, delta: string, logprobs?: string, finishReason?: string) => string;

/** Serializes the common part of all chunks of a stream only once. */
function chunkEncoder(answer: ChatAnswer, usageField: boolean): ChunkEncoder {
  const head = chunkHead(answer);
  const tail = usageField ? '],"usage":null}' : ']}';
  return (index, delta, logprobs = 'null', finishReason) => {
    const finish = finishReason === undefined ? 'null' : `"${finishReason}"`;
    return `${head}{"index":${index},"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish}}${tail}`;
  };
}

function chunkHead(answer: ChatAnswer): string {
  const common = JSON.stringify({
    id: answer.id,
    object: 'chat.completion.chunk',
    created: answer.created,
    model: answer.model,
    service_tier: 'default',
    system_fingerprint: fingerprint,
  });
  return `${common.slice(0, -1)},"choices":[`;
}

function withUsage(chunk: string, answer: ChatAnswer): string {
  return `${chunk.replace(/(,"usage":null)?\}$/, '')},"usage":${JSON.stringify(answer.usage)}}`;
}

function roleDelta(choice: AnswerChoice): string {
  const content = choice.pieces === null ? 'null' : '""';
  return `{"role":"assistant","content":${content},"refusal":null}`;
}

interface Delta {
  delta: string;
  logprobs: string;
}

function* inTurns(answer: ChatAnswer): Generator<[number, Delta]> {
  const queues = answer.choices.map((choice) => deltasOf(answer, choice));
  const longest = Math.max(...queues.map((queue) => queue.length));
  for (let turn = 0; turn < longest; turn++) {
    for (const [index, queue] of queues.entries()) {
      const delta = queue[turn];
      if (delta !== undefined) yield [index, delta];
    }
  }
}

function deltasOf(answer: ChatAnswer, choice: AnswerChoice): Delta[] {
  const plain = (delta: JsonObject): Delta => ({ delta: JSON.stringify(delta), logprobs: 'null' });
  if (choice.functionCall !== null) {
    const { name, arguments: text } = choice.functionCall;
    const pieces = splitEvenly(text, argumentPieces).map((piece) => ({ arguments: piece }));
    return [{ name, arguments: '' }, ...pieces].map((part) => plain({ function_call: part }));
  }
  if (choice.pieces === null) return toolCallDeltas(choice).map((part) => plain({ tool_calls: [part] }));
  return choice.pieces.map((piece) => ({
    delta: `{"content":${JSON.stringify(piece)}}`,
    logprobs: answer.logprobs === null ? 'null' : JSON.stringify(logprobsOf(answer, [piece])),
  }));
}

function toolCallDeltas({ toolCalls }: AnswerChoice): JsonObject[] {
  const deltas: JsonObject[] = toolCalls.map((call, index) => ({
    index,
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: '' },
  }));
  const pieces = toolCalls.map((call) => splitEvenly(call.arguments, argumentPieces));
  for (let turn = 0; turn < argumentPieces; turn++) {
    for (const [index, own] of pieces.entries()) {
      if (own[turn] !== undefined) deltas.push({ index, function: { arguments: own[turn] } });
    }
  }
  return deltas;
}

function logprobsOf(answer: ChatAnswer, pieces: string[] | null): JsonObject | null {
  const { logprobs } = answer;
  if (logprobs === null || pieces === null) return null;
  const token = (text: string, rank: number): JsonObject => ({
    token: text,
    logprob: -0.125 * (rank + 1),
    bytes: [...Buffer.from(text)],
  });
  const content = pieces.map((piece) => ({
    ...token(piece, 0),
    top_logprobs: Array.from({ length: logprobs.top }, (_, rank) =>
      token(rank === 0 ? piece : `${piece}${rank}`, rank),
    ),
  }));
  return { content, refusal: null };
}
