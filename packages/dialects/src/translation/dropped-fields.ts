import type { Sampling } from './conversation.ts';
import { AppError } from '@gatehouse/kit/errors';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { factsOf, type FactsOverlay } from '../model-facts.ts';
import { wrongType } from '../request-fields.ts';
import { maxHintChars, maxHints } from '../bounds.ts';

/** Fields of a conversation by their names in a client's API. */
export type FieldNames = Readonly<Record<NamedField, string>>;

export type NamedField =
  | 'choice'
  | 'parallel'
  | 'maxTokens'
  | 'stop'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'seed'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'output'
  /** Adherence of the output to its schema. */
  | 'strictOutput'
  /** The schema of the output, where its form is changed. */
  | 'outputSchema'
  | 'reasoning'
  | 'strict'
  /** The schema of a tool, likewise. */
  | 'toolSchema'
  | 'tools'
  /** The list of messages. */
  | 'turns';

/** Names common to most APIs. */
export const usualNames: FieldNames = {
  ...{ choice: 'tool_choice', parallel: 'parallel_tool_calls', maxTokens: 'max_tokens', stop: 'stop' },
  ...{ temperature: 'temperature', topP: 'top_p', topK: 'top_k', seed: 'seed' },
  ...{ presencePenalty: 'presence_penalty', frequencyPenalty: 'frequency_penalty', tools: 'tools' },
  ...{ output: 'response_format', strictOutput: 'response_format.json_schema.strict' },
  ...{ outputSchema: 'response_format.json_schema.schema', toolSchema: 'tools.parameters' },
  ...{ reasoning: 'reasoning', strict: 'tools.strict', turns: 'messages' },
};

/** Values of members by their names; undefined for a missing member, or null. */
export type Members<Name extends string> = Readonly<Partial<Record<Name, unknown>>>;

/** Fields of a request without a place in its target. */
export class DroppedFields {
  readonly #names: FieldNames;
  readonly #exempt: string | null;
  readonly #ignored = new Set<string>();
  /** Whether the reader is at a turn of the model, or before one: parts without a place are left out there. */
  isHistory = false;

  /** `exempt`: a hint of objects for which the target has a field; null without one. */
  constructor(names: FieldNames, exempt: string | null = null) {
    this.#names = names;
    this.#exempt = exempt;
  }

  /** Names of omitted hints, as the client has them. `...` stands for those over the limit. */
  get ignored(): string[] {
    return [...this.#ignored];
  }

  /** Leaves out a hint, by the client's name. */
  ignore(name: string): void {
    if (this.#ignored.size < maxHints) this.#ignored.add(headerName(name));
    else if (!this.#ignored.has(headerName(name))) this.#ignored.add('...');
  }

  keeps(name: string): boolean {
    return name === this.#exempt;
  }

  /**
   * The members of an object for its reader. All others in it are left out as hints, so a reader sees no member without
   * naming it here. `path`: the client's name of the object; empty for one with members known by their own names.
   * Throws `invalid_type` for a value other than an object.
   */
  members<Name extends string>(value: unknown, path: string, names: readonly Name[]): Members<Name> {
    if (!isFields(value)) throw wrongType(path === '' ? 'part' : path, ['object']);
    const taken: Fields = {};
    for (const [name, member] of Object.entries(value)) {
      if (member === null) continue;
      if (names.includes(name as Name)) taken[name] = member;
      else if (!this.keeps(name)) this.ignore(path === '' ? name : `${path}.${name}`);
    }
    return taken as Members<Name>;
  }

  ignoreField(field: NamedField): void {
    this.ignore(this.#names[field]);
  }

  /**
   * The error for a field with effect on the meaning of the answer. `why`: a sentence. `publicCode`: for clients with a
   * code for it.
   */
  unsupportedParameter(
    name: string,
    why = 'The API of this model has no place for it.',
    publicCode?: string,
  ): AppError {
    const param = name.slice(0, 200);
    return new AppError('unsupported_parameter', `Unsupported parameter: ${param}. ${why}`, {
      param,
      publicCode,
    });
  }

  unsupportedField(field: NamedField, why?: string): AppError {
    return this.unsupportedParameter(this.#names[field], why);
  }
}

/** A name as it stands in a header. */
function headerName(name: string): string {
  const cut = name.length > maxHintChars ? `${name.slice(0, maxHintChars)}...` : name;
  return cut.toWellFormed().replaceAll(/[^\w.[\]-]+/g, (other) => encodeURIComponent(other));
}

/** Parameters of sampling by the names of an API; those without a name in it, or refused by the model, are left out. */
export function samplingBy(
  names: Readonly<Partial<Record<keyof Sampling, string>>>,
  { sampling }: { sampling: Sampling },
  {
    facts,
    isThinking = true,
    dropped,
  }: { facts: { name: string } & FactsOverlay; isThinking?: boolean; dropped: DroppedFields },
): Fields {
  const taken: Fields = {};
  const { sampling: rule, takesPenalties } = factsOf(facts);
  const isTaken = rule === 'all' || (rule === 'offOnly' && !isThinking);
  for (const [field, value] of Object.entries(sampling) as [keyof Sampling, number | null][]) {
    const isRefused = !isTaken || (!takesPenalties && field.endsWith('Penalty'));
    const name = isRefused ? undefined : names[field];
    if (value === null) continue;
    if (name === undefined) dropped.ignoreField(field);
    else taken[name] = value;
  }
  return taken;
}
