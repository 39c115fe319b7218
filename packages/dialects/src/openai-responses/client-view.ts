import { runCooperatively } from '@gatehouse/kit/cooperative';
import { applyEdits, removeFrom, type Edit } from '../wire/json-edits.ts';
import { elementsOf, objectMembers, type Member } from '../wire/json-members.ts';
import { isParsable, memberRanges, wholeOf } from '../wire/json-parts.ts';
import { openBrace, openBracket } from '@gatehouse/kit/json-bytes';
import type { Additions, AnswerView, KeptNames } from '../dialect.ts';
import { dataOf } from '../wire/sse-frames.ts';
import { eventOf, frameOf } from './events.ts';

interface ClientViewOptions extends Additions {
  /** Whether the client requested a stored response. */
  store: boolean;
  /** Whether it requested encrypted reasoning. */
  encrypted: boolean;
}

/**
 * Shows a response as its client requested it: providers are called with `store: false` and for encrypted reasoning, and echo
 * the prompt and the tools of an agent, which are not the client's to read. Every other byte stays.
 */
export class ClientView implements AnswerView {
  readonly #options: ClientViewOptions;

  constructor(options: ClientViewOptions) {
    this.#options = options;
  }

  frame(frame: Buffer): Buffer {
    const isHeld = this.#options.kept !== null && frame.includes(responseName);
    if (!isHeld && !this.#mayDiffer(frame)) return frame;
    const at = dataOf(frame);
    if (at !== null) return applyEdits(frame, this.#eventEdits(frame, at)).whole;
    // Data in several lines is one value only once they are joined.
    const event = eventOf(frame);
    return event === null ? frame : this.frame(frameOf({ ...event.fields, type: event.type }));
  }

  async whole(bytes: Buffer, tenantId: string): Promise<Buffer> {
    if (this.#options.kept === null && !this.#mayDiffer(bytes)) return bytes;
    if (!(await isParsable(bytes, wholeOf(bytes), tenantId))) return this.#large(bytes, tenantId);
    return runCooperatively(tenantId, () => applyEdits(bytes, this.#responseEdits(bytes, 0)).whole);
  }

  /**
   * An answer with a reading time over 50 ms has pictures. It loses instructions and tools whole, and keeps encrypted
   * thoughts.
   */
  async #large(bytes: Buffer, tenantId: string): Promise<Buffer> {
    const { store, systemPrompt, toolNames, kept } = this.#options;
    const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
    const values = {
      store: store && 'true',
      instructions: systemPrompt !== null && 'null',
      tools: toolNames.size > 0 && '[]',
      ...(kept !== null && namesOf(kept)),
    };
    const edits = Object.entries(values).flatMap(([name, text]) => {
      const range = members?.get(name);
      return range === undefined || text === false ? [] : [{ at: range.from, until: range.until, text }];
    });
    return applyEdits(bytes, edits).whole;
  }

  /** Nearly all events are without these. */
  #mayDiffer(bytes: Buffer): boolean {
    return [storeName, encryptedName, instructionsName, toolsName].some((name) => bytes.includes(name));
  }

  #eventEdits(frame: Buffer, from: number): Edit[] {
    if (frame[from] !== openBrace) return [];
    return objectMembers(frame, { from }).flatMap(({ name, valueStart }) => {
      if (frame[valueStart] !== openBrace) return [];
      if (name === 'response') return this.#responseEdits(frame, valueStart);
      return name === 'item' ? this.#itemEdits(frame, valueStart) : [];
    });
  }

  #responseEdits(json: Buffer, from: number): Edit[] {
    const { kept } = this.#options;
    const names = kept === null ? {} : namesOf(kept);
    const members = objectMembers(json, { from });
    const present = new Set(members.map(({ name }) => name));
    const last = members.at(-1);
    const added = Object.entries(names).flatMap(([name, text]) =>
      last === undefined || present.has(name)
        ? []
        : [{ at: last.valueEnd, until: last.valueEnd, text: `,"${name}":${text}` }],
    );
    const edits = members.flatMap((member) => {
      const { name, valueStart: at, valueEnd: until } = member;
      const named = Object.hasOwn(names, name) ? names[name] : undefined;
      if (named !== undefined) return [{ at, until, text: named }];
      switch (name) {
        case 'store':
          return this.#options.store && json.toString('latin1', at, until) === 'false'
            ? [{ at, until, text: 'true' }]
            : [];
        case 'instructions':
          return this.#instructionEdits(json, member);
        case 'tools':
          return json[at] === openBracket ? this.#toolEdits(json, member) : [];
        case 'output':
          if (json[at] !== openBracket) return [];
          return [...elementsOf(json, at)].flatMap((item) => this.#itemEdits(json, item));
        default:
          return [];
      }
    });
    return [...edits, ...added];
  }

  /** The prompt stands before the instructions of the client. Others written by a provider may have it anywhere. */
  #instructionEdits(json: Buffer, { valueStart: at, valueEnd: until }: Member): Edit[] {
    const { systemPrompt } = this.#options;
    if (systemPrompt === null || json.toString('latin1', at, until) === 'null') return [];
    const text: unknown = JSON.parse(json.toString('utf8', at, until));
    const start = `${systemPrompt}\n\n`;
    const isBehind = typeof text === 'string' && text.startsWith(start);
    return [{ at, until, text: isBehind ? JSON.stringify(text.slice(start.length)) : 'null' }];
  }

  #toolEdits(json: Buffer, member: Member): Edit[] {
    const { toolNames } = this.#options;
    if (toolNames.size === 0) return [];
    const hidden = [...elementsOf(json, member.valueStart)].flatMap((at, place) =>
      toolNames.has(nameAt(json, at)) ? [place] : [],
    );
    const edits: Edit[] = [];
    removeFrom(json, member, new Set(hidden), edits);
    return edits;
  }

  #itemEdits(json: Buffer, from: number): Edit[] {
    if (this.#options.encrypted || json[from] !== openBrace) return [];
    const members = objectMembers(json, { from });
    if (!members.some((member) => isReasoning(json, member))) return [];
    return members
      .filter(({ name }) => name === encryptedName)
      .map(({ valueStart: at, valueEnd: until }) => ({ at, until, text: 'null' }));
  }
}

/** The members by which responses are known, as JSON. */
function namesOf({ id, previousId }: KeptNames): Record<string, string> {
  const previous = { previous_response_id: JSON.stringify(previousId) };
  return id === null ? previous : { id: JSON.stringify(id), ...previous };
}

const responseName = '"response"';
const storeName = '"store"';
const encryptedName = 'encrypted_content';
const instructionsName = '"instructions"';
const toolsName = '"tools"';

function isReasoning(json: Buffer, { name, valueStart, valueEnd }: Member): boolean {
  return name === 'type' && json.toString('latin1', valueStart, valueEnd) === '"reasoning"';
}

/** The `name` of the object at a place, or an empty text. */
function nameAt(json: Buffer, from: number): string {
  if (json[from] !== openBrace) return '';
  const member = objectMembers(json, { from }).findLast(({ name }) => name === 'name');
  const name: unknown =
    member === undefined ? '' : JSON.parse(json.toString('utf8', member.valueStart, member.valueEnd));
  return typeof name === 'string' ? name : '';
}
