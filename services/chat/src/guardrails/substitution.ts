import { TextView, type Grow } from '@gatehouse/dialects/text-view/text-view';
import type { TextChannel } from '@gatehouse/dialects/text-view/text-channel';
import type { TextRules } from '@gatehouse/dialects/text-view/text-rules';
import { changed, type TextChange } from '@gatehouse/dialects/text-view/text-source';
import { AddressReader } from '@gatehouse/guardrails/placeholders/address-reader';
import { Placeholders } from '@gatehouse/guardrails/placeholders/placeholders';
import { atOnce, type Steps } from '@gatehouse/kit/cooperative-steps';
import type { Hasher, KeyRing } from '@gatehouse/secrets/key-ring';
import type { AnswerChecks } from './guarded-stream.ts';
import { RestoredText } from './restored-text.ts';
import type { Replacement } from './text-verdict.ts';

/** So many characters are passed in a step on the way to a value. */
const passedInStep = 16_384;

/** Keyed hashes of a tenant's values: the same in all replicas, and of no use for those of another one. */
export function placeholderHasher(keyRing: KeyRing, tenantId: string): Pick<Hasher, 'hash'> {
  return keyRing.hasher(`chat.placeholders/${tenantId}`);
}

/** The values of one run with placeholders for its providers, on their way there and back. */
export class Substitution {
  readonly #placeholders: Placeholders;

  constructor({ hash }: Pick<Hasher, 'hash'>) {
    this.#placeholders = new Placeholders((value) => {
      const text = hash(value);
      return Buffer.from(text.slice(text.indexOf(':') + 1), 'base64url');
    });
  }

  /** Whether some value has a placeholder. */
  get isUsed(): boolean {
    return !this.#placeholders.isEmpty;
  }

  /** Notes the values of a text. `isReturned`: answers get them back. */
  *note(text: string, replacements: readonly Replacement[], isReturned: boolean): Steps<void> {
    const addresses = new AddressReader();
    let at = 0;
    for (const { from, until, type } of replacements) {
      if (type === undefined) continue;
      for (; isReturned && at < from; yield) {
        const next = Math.min(from, at + passedInStep);
        addresses.push(text.slice(at, next));
        at = next;
      }
      const host = addresses.open?.host ?? null;
      this.#placeholders.note(type, text.slice(from, until), { isReturned, host });
    }
  }

  /** A change with the placeholder of its value, once all values are noted. A value without one is masked. */
  written({ from, until, text, type }: Replacement, value: string): TextChange {
    const placeholder =
      type === undefined ? null : this.#placeholders.placeholderOf(type, value.slice(from, until));
    return { from, until, text: placeholder ?? text };
  }

  /** The same for all changes of a text. */
  allWritten(replacements: readonly Replacement[], value: string): readonly TextChange[] {
    return replacements.map((each) => this.written(each, value));
  }

  /** A short text with its values. */
  restored(text: string): string {
    return changed(text, atOnce(this.#valuesIn(text)));
  }

  /** A document with the values of its texts; the same buffer without any. */
  *documentRestored(body: Buffer, rules: TextRules, grow?: Grow): Steps<Buffer> {
    const view = yield* TextView.read(body, rules, grow);
    const changes = [];
    for (const viewText of view.texts) {
      const { isFixed, place, member, value } = viewText;
      if (isFixed || rules.isThought(place, String(member))) continue;
      for (const change of yield* this.#valuesIn(value)) changes.push({ viewText, ...change });
    }
    return changes.length === 0 ? body : (yield* view.rewritten(changes)).whole;
  }

  *#valuesIn(text: string): Steps<TextChange[]> {
    const scan = this.#placeholders.scan();
    const { values } = yield* scan.push(text);
    return [...values, ...scan.end().values];
  }

  /** Puts values into the texts of a stream. After a failure it goes on with placeholders. */
  streamed(onFailed: (error: unknown) => void): AnswerChecks {
    return {
      closed: null,
      textOf: (channel: TextChannel) =>
        channel.isFixed || channel.isThought ? null : new RestoredText(channel, this.#placeholders.scan()),
      guardrailAgainst: () => null,
      refused: () => {
        throw new Error('a stream of values has no refusals');
      },
      failed: onFailed,
    };
  }
}
