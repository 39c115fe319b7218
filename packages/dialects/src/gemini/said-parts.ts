import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import { JsonSource, RawJson, writeJson } from '../wire/json-text.ts';
import { frameData } from '../wire/sse-frames.ts';
import type { AssistantMessage, ToolCall } from '../dialect.ts';
import { argumentsObjects } from '../tool-arguments.ts';
import { callIn, isSigned, partsOf } from './content.ts';
import { memberIn, textOf } from './fields.ts';

/** More than any model asks for at once. */
export const maxCalls = 128;

/** The parts of a model's content. */
export class SaidParts implements AssistantMessage {
  /** As they were said: their signatures count for all that is in them. */
  readonly parts: readonly Fields[];
  readonly calls: readonly ToolCall[];

  private constructor(parts: readonly Fields[], calls: readonly ToolCall[]) {
    this.parts = parts;
    this.calls = calls;
  }

  /** Throws at too many calls. */
  static of(parts: readonly Fields[]): SaidParts {
    const called = parts.map(callIn).filter((call) => call !== null);
    if (called.length > maxCalls) throw new Error('the answer has too many calls of tools');
    const texts = called.map(({ args }) => argumentsText(args));
    const objects = argumentsObjects(texts);
    const calls = called.map(({ id, name }, index) => ({
      ...{ id: textOf(id), name: textOf(name) },
      ...{ argumentsText: texts[index] ?? '', argumentsJson: objects[index] ?? null },
    }));
    return new SaidParts(parts, calls);
  }

  /** The same for an answer that stopped for this reason: calls of one that broke off are not to be made. */
  stopped(reason: unknown): SaidParts {
    const isWhole = textOf(reason) === '' || wholeReasons.has(textOf(reason).toUpperCase());
    return isWhole ? this : new SaidParts(this.parts, []);
  }

  /** Reasoning is signed by the vendor of the model. */
  get isSigned(): boolean {
    return this.parts.some(isSigned);
  }

  /** The ids are the gateway's own where the model gave none: those in the parts stay as they are. */
  identified(used: Set<string>): SaidParts {
    const calls = this.calls.map((call) => {
      const isGood = /^[\x21-\x7e]{1,256}$/.test(call.id) && !used.has(call.id);
      const id = isGood ? call.id : `call_${newId().replaceAll('-', '')}`;
      used.add(id);
      return { ...call, id };
    });
    return new SaidParts(this.parts, calls);
  }

  /** Without empty texts, unless they carry a signature. */
  get text(): string {
    const parts = this.parts.filter((part) => part['text'] !== '' || Object.keys(part).length > 1);
    return writeJson({ role: 'model', parts });
  }

  /** One content: the results stand in the order of the calls, with the ids that the model gave. */
  resultTexts(results: readonly string[]): string[] {
    const called = this.parts.map(callIn).filter((call) => call !== null);
    const parts = called.map(({ id, name }, index) => ({
      functionResponse: {
        ...(typeof id === 'string' && id !== '' && { id }),
        ...{ name, response: { output: results[index] ?? '' } },
      },
    }));
    return [JSON.stringify({ role: 'user', parts })];
  }
}

/**
 * The first candidate of a response with the arguments of its calls as they are written: parsing and writing them again would
 * change big numbers.
 */
export function exactArguments(candidate: Fields, sourceOf: () => JsonSource | null): Fields {
  const candidateParts = partsOf(candidate['content']);
  if (!candidateParts.some((part) => isFields(callIn(part)?.['args']))) return candidate;
  const list = memberIn(memberIn(sourceOf(), 'content'), 'parts');
  const parts = candidateParts.map((part, index) => {
    const call = callIn(part);
    const args =
      call === null ? null : (memberIn(list?.element(index) ?? null, 'functionCall')?.textOf('args') ?? null);
    if (call === null || args === null || !isFields(call['args'])) return part;
    const name = Object.hasOwn(part, 'functionCall') ? 'functionCall' : 'function_call';
    return { ...part, [name]: { ...call, args: new RawJson(args) } };
  });
  return { ...candidate, content: { ...(candidate['content'] as Fields), parts } };
}

/** The same for the response in the frame of a stream. */
export function exactResponse(response: Fields, frame: Buffer): Fields {
  const [first, ...others] = listOf(response['candidates']);
  if (!isFields(first)) return response;
  const source = (): JsonSource | null =>
    new JsonSource(Buffer.from(frameData(frame) ?? '')).member('candidates')?.element(0) ?? null;
  const exact = exactArguments(first, source);
  return exact === first ? response : { ...response, candidates: [exact, ...others] };
}

function argumentsText(args: unknown): string {
  if (args === undefined || args === null) return '';
  return isFields(args) ? writeJson(args) : textOf(args) || JSON.stringify(args);
}

/** All others say that the model broke off. */
const wholeReasons = new Set(['STOP', 'FINISH_REASON_UNSPECIFIED']);
