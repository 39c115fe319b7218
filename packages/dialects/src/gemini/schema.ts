import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
  skipSpace,
  smallBytes,
  textEnd,
} from '@gatehouse/kit/json-bytes';
import { scanPieces } from '@gatehouse/kit/json-scan';
import { applyEdits, type Edit } from '../wire/json-edits.ts';
import type { Member } from '../wire/json-members.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';

/** The kind of a keyword's value. `named`: schemas by names, which are the client's own. */
type Kind = 'schema' | 'schemas' | 'named' | 'count' | 'plain';

/** Keywords of Google's older schemas, and of JSON Schema, with values of a special kind. */
const kinds: Readonly<Record<string, Kind>> = {
  ...{ properties: 'named', patternProperties: 'named', $defs: 'named', definitions: 'named' },
  ...{ dependentSchemas: 'named', defs: 'named' },
  ...{ items: 'schema', additionalProperties: 'schema', not: 'schema', contains: 'schema' },
  ...{ if: 'schema', then: 'schema', else: 'schema', propertyNames: 'schema' },
  ...{ anyOf: 'schemas', allOf: 'schemas', oneOf: 'schemas', prefixItems: 'schemas' },
  ...{ minItems: 'count', maxItems: 'count', minLength: 'count', maxLength: 'count' },
  ...{ minProperties: 'count', maxProperties: 'count' },
};

/** Their other spellings. */
const snakes: ReadonlyMap<string, string> = new Map(
  [...Object.keys(kinds), 'propertyOrdering'].map((name) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    name,
  ]),
);

/**
 * Google's older form of a schema as JSON Schema: its types are in capitals, and may be null by a field, and counts may be
 * texts. All else keeps its text. `schemaJson`: valid JSON.
 */
export function* asJsonSchema(schemaJson: string): Steps<string> {
  const json = Buffer.from(schemaJson);
  if (json.length > smallBytes) yield* scanPieces(json);
  const walk = new SchemaWalk(json);
  walk.value(skipSpace(json, 0), 'schema');
  return applyEdits(json, walk.edits).toString();
}

/** Walks once through the text of a schema, and collects its changes. */
class SchemaWalk {
  readonly edits: Edit[] = [];
  readonly #json: Buffer;

  constructor(json: Buffer) {
    this.#json = json;
  }

  /** Returns the end of the value at `from`. */
  value(from: number, kind: Kind): number {
    switch (this.#json[from]) {
      case openBrace:
        return this.#object(from, kind);
      case openBracket:
        return this.#array(from, kind);
      case quote: {
        const end = textEnd(this.#json, from) + 1;
        if (kind === 'count' && /^"\d{1,15}"$/.test(this.#text(from, Math.min(end, from + 20))))
          this.edits.push({ at: from, until: end, text: this.#text(from + 1, end - 1) });
        return end;
      }
      default:
        return this.#bareEnd(from);
    }
  }

  #array(from: number, kind: Kind): number {
    const inner = kind === 'schemas' ? 'schema' : kind === 'schema' ? kind : 'plain';
    let at = skipSpace(this.#json, from + 1);
    while (at < this.#json.length && this.#json[at] !== closeBracket) {
      const end = skipSpace(this.#json, this.value(at, inner));
      at = this.#json[end] === comma ? skipSpace(this.#json, end + 1) : end;
    }
    return at + 1;
  }

  #object(from: number, kind: Kind): number {
    const members: Member[] = [];
    let at = skipSpace(this.#json, from + 1);
    while (this.#json[at] === quote) {
      const nameEnd = textEnd(this.#json, at) + 1;
      const memberName = JSON.parse(this.#text(at, nameEnd)) as string;
      const name = kind === 'schema' ? (snakes.get(memberName) ?? memberName) : memberName;
      if (name !== memberName) this.edits.push({ at, until: nameEnd, text: JSON.stringify(name) });
      const valueStart = skipSpace(this.#json, this.#json.indexOf(colon, nameEnd) + 1);
      const valueEnd = this.value(valueStart, innerKind(kind, name));
      members.push({ name, start: at, valueStart, valueEnd });
      const end = skipSpace(this.#json, valueEnd);
      at = this.#json[end] === comma ? skipSpace(this.#json, end + 1) : end;
    }
    if (kind === 'schema') this.#convert(members);
    return at + 1;
  }

  /** Changes the members of one schema. */
  #convert(members: readonly Member[]): void {
    const last = (name: string): Member | undefined => members.findLast((member) => member.name === name);
    const nullable = last('nullable');
    const isNullable =
      nullable !== undefined && this.#text(nullable.valueStart, nullable.valueEnd) === 'true';
    const type = last('type');
    if (type !== undefined && this.#json[type.valueStart] === quote) {
      const { valueStart: at, valueEnd: until } = type;
      const named = this.#text(at, until).toLowerCase();
      this.edits.push({ at, until, text: isNullable ? `[${named},"null"]` : named });
    }
    if (isNullable) {
      this.#append(last('enum'), 'null');
      if (type === undefined) this.#append(last('anyOf'), '{"type":"null"}');
    }
    this.#remove(members, 'nullable');
  }

  /** Adds an element to a list with elements. */
  #append(member: Member | undefined, element: string): void {
    if (member === undefined || this.#json[member.valueStart] !== openBracket) return;
    const at = member.valueEnd - 1;
    if (skipSpace(this.#json, member.valueStart + 1) < at)
      this.edits.push({ at, until: at, text: `,${element}` });
  }

  #remove(members: readonly Member[], name: string): void {
    let last: Member | null = null;
    for (const [index, member] of members.entries()) {
      if (member.name !== name) last = member;
      else if (last !== null)
        this.edits.push({ at: members[index - 1]?.valueEnd ?? 0, until: member.valueEnd, text: '' });
      else
        this.edits.push({
          ...{ at: member.start, text: '' },
          until: members[index + 1]?.start ?? member.valueEnd,
        });
    }
  }

  #bareEnd(from: number): number {
    let at = from;
    for (; at < this.#json.length; at += 1) {
      const byte = this.#json[at] ?? 0;
      if (byte === comma || byte === closeBrace || byte === closeBracket || byte <= 0x20) return at;
    }
    return at;
  }

  #text(from: number, until: number): string {
    return this.#json.toString('utf8', from, until);
  }
}

/** Names of the client's own are no keywords. */
function innerKind(kind: Kind, name: string): Kind {
  if (kind === 'named') return 'schema';
  return kind === 'schema' && Object.hasOwn(kinds, name) ? (kinds[name] ?? 'plain') : 'plain';
}
