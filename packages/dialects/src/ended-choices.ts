import type { Fields } from '@gatehouse/kit/fields';

/** The choices of a stream with an end: of the provider, or a refusal of the gateway. */
export class EndedChoices {
  readonly #requested: number;
  /** Whether each choice begun has its end. */
  readonly #choices = new Map<number, boolean>();
  readonly #refused = new Set<number>();

  /** `requested`: at most 128 by the API. */
  constructor(requested: number) {
    this.#requested = requested;
  }

  begin(index: number): void {
    if (!this.#choices.has(index)) this.#choices.set(index, false);
  }

  end(index: number): void {
    this.#choices.set(index, true);
  }

  refuse(index: number): void {
    this.end(index);
    this.#refused.add(index);
  }

  isRefused(index: number): boolean {
    return this.#refused.has(index);
  }

  /** Those without one. */
  get open(): number[] {
    const begun = [...this.#choices].filter(([, isEnded]) => !isEnded).map(([index]) => index);
    const all = Array.from({ length: this.#requested }, (_, index) => index);
    return [...begun, ...all.filter((index) => !this.#choices.has(index))];
  }
}

/** Choices, or candidates, with their indexes, as `TextPlace.key` numbers them. */
export function numberedChoices(choices: readonly Fields[]): { index: number; choice: Fields }[] {
  return choices.map((choice, place) => {
    const { index } = choice;
    return { index: typeof index === 'number' && index >= 0 ? index : place, choice };
  });
}
