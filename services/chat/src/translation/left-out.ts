import { AppError } from '@gatehouse/kit/errors';

/** Fields of a conversation by the names that a client's API has for them. */
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
  | 'reasoning'
  | 'strict'
  | 'tools';

/** More than any client sends; the header that names them stays short. */
const maxNames = 64;
const maxNameChars = 100;

/** Fields of a request that its target has no place for. */
export class LeftOut {
  readonly #names: FieldNames;
  readonly #ignored = new Set<string>();

  constructor(names: FieldNames) {
    this.#names = names;
  }

  /** Names of hints that were left out, as the client has them. */
  get ignored(): string[] {
    return [...this.#ignored];
  }

  /** Leaves out a hint, by the client's name. */
  ignore(name: string): void {
    // Names go into a header.
    if (this.#ignored.size < maxNames && /^[\w.[\]-]+$/.test(name) && name.length <= maxNameChars)
      this.#ignored.add(name);
  }

  ignoreField(field: NamedField): void {
    this.ignore(this.#names[field]);
  }

  /**
   * The error for a field that decides the meaning of the answer. `why`: a sentence. `publicCode`: for clients that know a
   * code for it.
   */
  refused(name: string, why = 'The API of this model has no place for it.', publicCode?: string): AppError {
    const param = name.slice(0, 200);
    return new AppError('unsupported_parameter', `Unsupported parameter: ${param}. ${why}`, {
      param,
      publicCode,
    });
  }

  refusedField(field: NamedField, why?: string): AppError {
    return this.refused(this.#names[field], why);
  }
}
