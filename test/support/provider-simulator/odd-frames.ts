import type { Fault } from './faults.ts';
import type { Frame } from './frame.ts';

interface Chunk {
  choices: { finish_reason: string | null; usage?: unknown }[];
  usage?: unknown;
}

const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** The frames of a stream as providers write them that imitate OpenAI. README.md describes each way. */
export function oddFrames(frames: readonly Frame[], fault: Fault): Frame[] {
  let odd = [...frames];
  if (fault.empty_finish_reasons === true) odd = odd.map(withEmptyReason);
  if (fault.usage_in_choice === true) odd = withUsageInChoice(odd);
  if (fault.zeros_last === true) odd = odd.flatMap(withZeros);
  return odd;
}

function changed(frame: Frame, change: (chunk: Chunk) => void): Frame {
  if (frame.kind === 'done') return frame;
  const chunk = JSON.parse(frame.data) as Chunk;
  change(chunk);
  return { ...frame, data: JSON.stringify(chunk) };
}

function withEmptyReason(frame: Frame): Frame {
  return changed(frame, ({ choices }) => {
    for (const choice of choices) choice.finish_reason ??= '';
  });
}

/** The usage moves into the choice that ends last. */
function withUsageInChoice(frames: readonly Frame[]): Frame[] {
  const reported = frames.find(({ kind }) => kind === 'usage');
  const last = frames.findLast(({ kind }) => kind === 'finish');
  if (reported === undefined || last === undefined) return [...frames];
  const { usage } = JSON.parse(reported.data) as Chunk;
  const ending = changed(last, ({ choices }) => {
    for (const choice of choices) choice.usage = usage;
  });
  return frames
    .filter((frame) => frame !== reported)
    .map((frame) => (frame === last ? { ...ending, carriesUsage: true } : frame));
}

/** A chunk of zeros follows the usage. */
function withZeros(frame: Frame): Frame[] {
  if (frame.kind !== 'usage') return [frame];
  const last = changed(frame, (chunk) => {
    chunk.usage = zeros;
  });
  return [frame, { ...last, carriesUsage: false }];
}
