import type { Answer } from './answer-format.ts';
import { joinWrites, planStream, planUnary, splitAwkwardly } from './delivery-plan.ts';
import type { Step, WriteStep } from './delivery-plan.ts';
import type { Exchange } from './exchange.ts';
import { noFault } from './faults.ts';
import type { Fault } from './faults.ts';
import { serverSent } from './frame.ts';
import type { Frame, Framing } from './frame.ts';

type Headers = Record<string, string | number>;

const jsonType = 'application/json';
const wrongType = 'text/plain; charset=utf-8';
/** The first pieces of a split body are sent 1 ms apart, so that they arrive separately. */
const unhurriedPieces = 100;

/** Sends an answer as its client wants it, or as the fault does. */
export function sendAnswer(exchange: Exchange, answer: Answer, fault: Fault): void {
  exchange.record.response_id = answer.id;
  exchange.record.usage = answer.usage;
  const { frames } = answer;
  if (frames !== null && answer.streamed !== (fault.other_kind === true)) {
    sendStream(exchange, { frames: frames(), framing: answer.framing ?? serverSent }, fault);
  } else sendJson(exchange, { status: 200, body: answer.whole() }, fault);
}

/** Sends a JSON body with the given fault. */
export function sendJson(exchange: Exchange, answer: { status: number; body: string }, fault: Fault): void {
  const { status, body } = answer;
  if (fault === noFault) {
    const headers = {
      ...exchange.format.headers,
      'content-type': jsonType,
      'content-length': Buffer.byteLength(body),
    };
    exchange.respond(status, headers, body);
    return;
  }
  const usage = exchange.record.usage !== null && fault.no_usage !== true && fault.malformed === undefined;
  const { length, steps } = planUnary(body, usage, fault);
  const headers = { ...exchange.format.headers, 'content-type': jsonType, 'content-length': length };
  void play(exchange, { status, headers, steps }, fault);
}

interface Stream {
  frames: Frame[];
  framing: Framing;
}

/** Sends a stream with the given fault. */
function sendStream(exchange: Exchange, { frames, framing }: Stream, fault: Fault): void {
  const { format } = exchange;
  const headers = { ...format.headers, 'content-type': framing.contentType, 'cache-control': 'no-cache' };
  if (fault !== noFault) {
    const steps = planStream(frames, fault, { format, framing });
    void play(exchange, { status: 200, headers, steps }, fault);
    return;
  }
  exchange.start(200, headers);
  for (const frame of frames) {
    const chunks = frame.kind === 'done' ? 0 : 1;
    exchange.push(framing.text(frame), { chunks, usage: frame.carriesUsage });
  }
  if (framing.end !== '') exchange.push(framing.end, { chunks: 0, usage: false });
  exchange.end();
}

interface Plan {
  status: number;
  headers: Headers;
  steps: Step[];
}

async function play(exchange: Exchange, plan: Plan, fault: Fault): Promise<void> {
  await exchange.sleep(fault.delay_ms ?? 0);
  if (exchange.closed || fault.silent === 'before_headers') return;
  if (fault.cut === 'before_headers') return exchange.cut();
  exchange.start(plan.status, headersOf(plan, fault));
  const stopsHere = fault.cut === 'after_headers' || fault.silent === 'after_headers';
  if (stopsHere || fault.first_chunk_delay_ms !== undefined) exchange.flushHeaders();
  if (fault.cut === 'after_headers') return exchange.cut();
  if (fault.silent === 'after_headers') return;
  await exchange.sleep(fault.first_chunk_delay_ms ?? 0);
  await playSteps(exchange, plan.steps, fault);
}

async function playSteps(exchange: Exchange, steps: Step[], fault: Fault): Promise<void> {
  const pace = fault.one_write === true ? 0 : (fault.chunk_delay_ms ?? 0);
  const together = fault.one_write === true || (fault.split_utf8 === true && pace === 0);
  // An absolute schedule, so that delays of timers do not add up.
  let due = performance.now();
  for (const step of together ? joinWrites(steps) : steps) {
    if (step.kind !== 'write') {
      if (step.kind === 'end') exchange.end();
      else if (step.kind === 'cut') await exchange.cut();
      return;
    }
    if (step.paced && pace > 0) {
      due += pace;
      await exchange.sleep(due - performance.now());
    }
    if (exchange.closed) return;
    if (fault.split_utf8 === true) await writeSplit(exchange, step);
    else await exchange.write(step.data, step.carried);
  }
}

async function writeSplit(exchange: Exchange, step: WriteStep): Promise<void> {
  const pieces = splitAwkwardly(Buffer.from(step.data));
  for (const [index, piece] of pieces.entries()) {
    const last = index === pieces.length - 1;
    await exchange.write(piece, last ? step.carried : { chunks: 0, usage: false });
    if (index < unhurriedPieces) await exchange.sleep(1);
  }
}

function headersOf(plan: Plan, fault: Fault): Headers {
  const headers: Headers = { ...plan.headers };
  if (fault.wrong_content_type === true) headers['content-type'] = wrongType;
  if (fault.retry_after !== undefined) headers['retry-after'] = fault.retry_after;
  for (const [name, value] of Object.entries(fault.headers ?? {})) headers[name.toLowerCase()] = value;
  return headers;
}
