import type { AnswerFormat } from './answer-format.ts';
import type { Carried } from './exchange.ts';
import { errorOf, type Fault } from './faults.ts';
import type { Frame, Framing } from './frame.ts';

export type Step = WriteStep | { kind: Ending };

export interface WriteStep {
  kind: 'write';
  data: string | Buffer;
  carried: Carried;
  /** Delayed if the stream is paced. */
  paced: boolean;
}

/** How a body ends: in order, by destroying the connection, or not at all. */
export type Ending = 'end' | 'cut' | 'hang';

const nothing: Carried = { chunks: 0, usage: false };

/** Plans the writes of a unary body. */
export function planUnary(body: string, usage: boolean, fault: Fault): { length: number; steps: Step[] } {
  const bytes = Buffer.from(fault.malformed === undefined ? body : brokenJson(body));
  const write = (part: Buffer, carried = nothing): Step => ({
    kind: 'write',
    data: part,
    carried,
    paced: false,
  });
  const half = Math.floor(bytes.length / 2);
  const stop = midStreamStop(fault);
  const steps: Step[] =
    stop !== null
      ? [write(bytes.subarray(0, half)), { kind: stop }]
      : fault.cut === 'before_done'
        ? [write(bytes.subarray(0, -1)), { kind: 'cut' }]
        : [write(bytes, { chunks: 0, usage }), { kind: 'end' }];
  return { length: bytes.length, steps };
}

interface Written {
  format: AnswerFormat;
  framing: Framing;
}

/** Plans the writes of a stream, including its faults. */
export function planStream(frames: Frame[], fault: Fault, written: Written): Step[] {
  const { framing } = written;
  const contentFrames = frames.filter((frame) => frame.kind === 'content').length;
  const eol = fault.crlf === true ? '\r\n' : '\n';
  const steps: Step[] = [];
  let contentSent = 0;
  let checkedAt = -1;
  for (const [index, frame] of frames.entries()) {
    // A position is "after k content chunks": checked once, before the next frame.
    if (frame.kind !== 'opening' && contentSent > checkedAt) {
      checkedAt = contentSent;
      if (fault.malformed !== undefined && contentSent === Math.floor(contentFrames / 2)) {
        steps.push(text(brokenEvent(frame, fault.malformed, { framing, eol })));
      }
      const ending = endingAt(contentSent, contentFrames, fault);
      if (ending === 'error') {
        const sent = frames.slice(0, index);
        return [...steps, ...errorSteps(sent, fault, { ...written, eol }), ...endOf(framing)];
      }
      if (ending !== null) return [...steps, { kind: ending }];
    }
    if (frame.kind === 'done') return [...steps, ...lastSteps(frame, fault, { framing, eol })];
    if (fault.comments === true) steps.push(text(framing.comment(eol)));
    const carried = { chunks: 1, usage: frame.carriesUsage };
    const data = framing.text(frame, eol);
    steps.push({ kind: 'write', data, carried, paced: frame.kind === 'content' });
    if (frame.kind === 'content') contentSent++;
  }
  return [...steps, ...endOf(framing)];
}

/** The end of a stream in order. */
function endOf({ end }: Framing): Step[] {
  return [...(end === '' ? [] : [text(end)]), { kind: 'end' }];
}

interface Lines {
  framing: Framing;
  eol: string;
}

function lastSteps(done: Frame, fault: Fault, { framing, eol }: Lines): Step[] {
  if (fault.cut === 'before_done') return [{ kind: 'cut' }];
  if (fault.end_without_done === true) return [{ kind: 'end' }];
  const carried = { chunks: 0, usage: done.carriesUsage };
  return [{ kind: 'write', data: framing.text(done, eol), carried, paced: false }, ...endOf(framing)];
}

function errorSteps(sent: readonly Frame[], fault: Fault, { format, framing, eol }: Written & Lines): Step[] {
  const events = format.errorEvents(errorOf(format.defaultError(500), fault), sent);
  return events.map((event) => text(framing.text(event, eol)));
}

function text(data: string | Buffer): Step {
  return { kind: 'write', data, carried: nothing, paced: false };
}

function midStreamStop(fault: Fault): 'cut' | 'hang' | null {
  if (fault.cut === 'mid_stream') return 'cut';
  return fault.silent === 'mid_stream' ? 'hang' : null;
}

/** Whether and how the stream ends after this many content chunks; `error` ends it in order after an error event. */
function endingAt(sent: number, total: number, fault: Fault): Ending | 'error' | null {
  const reached = (wanted: number | undefined, otherwise: number): boolean =>
    sent === Math.min(wanted ?? otherwise, total);
  if (fault.error_event_after_chunks !== undefined && reached(fault.error_event_after_chunks, 0)) {
    return 'error';
  }
  if (fault.end_after_chunks !== undefined && reached(fault.end_after_chunks, 0)) return 'end';
  return reached(fault.cut_after_chunks, Math.floor(total / 2)) ? midStreamStop(fault) : null;
}

function brokenJson(body: string): string {
  return `${body.slice(0, Math.floor((body.length * 2) / 3))}<<broken`;
}

/** `json`: an event whose data is half a chunk. `sse`: lines that are not valid in the event stream format. */
function brokenEvent(frame: Frame, kind: 'json' | 'sse', { framing, eol }: Lines): string | Buffer {
  if (kind === 'json') {
    return framing.text({ ...frame, data: frame.data.slice(0, Math.floor(frame.data.length / 2)) }, eol);
  }
  return `this is not an event stream${eol}<html>502 Bad Gateway</html>${eol}${eol}`;
}

/** Joins adjacent writes, so that frames arrive together or can be split differently. */
export function joinWrites(steps: Step[]): Step[] {
  const joined: Step[] = [];
  for (let index = 0; index < steps.length; index++) {
    const parts: Buffer[] = [];
    const carried = { chunks: 0, usage: false };
    for (let step = steps[index]; step?.kind === 'write'; step = steps[++index]) {
      parts.push(Buffer.from(step.data));
      carried.chunks += step.carried.chunks;
      carried.usage ||= step.carried.usage;
    }
    if (parts.length > 0) joined.push({ kind: 'write', data: Buffer.concat(parts), carried, paced: false });
    const step = steps[index];
    if (step !== undefined) joined.push(step);
  }
  return joined;
}

/** Shorter than every frame, so that bodies of plain ASCII are split too. */
const longestPiece = 48;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Splits inside every multi-byte character, between the line ends of an event, and inside long runs. */
export function splitAwkwardly(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  let from = 0;
  for (let index = 0; index < bytes.length - 1; index++) {
    const byte = bytes[index] ?? 0;
    const startsCharacter = byte >= 0xc0;
    const insideLineEnd = byte === carriageReturn || (byte === lineFeed && bytes[index + 1] === lineFeed);
    if (startsCharacter || insideLineEnd || index + 1 - from >= longestPiece) {
      pieces.push(bytes.subarray(from, index + 1));
      from = index + 1;
    }
  }
  pieces.push(bytes.subarray(from));
  return pieces;
}
