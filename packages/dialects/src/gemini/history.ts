import { AppError } from '@gatehouse/kit/errors';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { signatureTextIn } from '../marked-signatures.ts';
import { maxHistoryParts } from '../bounds.ts';
import { callIn, isBlank, isKeepAlive, isSigned } from './content.ts';

/** The place of a part in the contents of a request. */
export interface PartPlace {
  content: number;
  part: number;
}

/** A part of the model's contents that a request for Google may have to change. */
export type HistoryPart = PartPlace &
  (
    | { kind: 'keep-alive' }
    /** The first call of a step, without a signature. */
    | { kind: 'unsigned-call' }
    | {
        kind: 'signed';
        /** Enough of them to decide whether they go on. */
        signatures: readonly string[];
        /** Whether the part is of no use without them. */
        isBare: boolean;
        /** Unsigned thoughts before it, of the same origin. */
        thoughts: readonly PartPlace[];
      }
  );

/** Reads the parts to be changed from the parsed contents. Throws a 400 for more than any conversation has. */
export function historyOf(contents: unknown): HistoryPart[] {
  const history: HistoryPart[] = [];
  const reader = new StepReader();
  for (const [content, element] of elementsIn(contents).entries()) {
    const fields = isFields(element) ? element : {};
    const isOfModel = fields['role'] === 'model';
    if (!isOfModel) reader.begin();
    for (const [part, value] of elementsIn(fields['parts']).entries()) {
      if (!isFields(value)) continue;
      const read = isOfModel ? reader.read(value, { content, part }) : signedPart(value, { content, part });
      if (read !== null) history.push(read);
    }
  }
  const count = history.reduce(
    (sum, part) => sum + 1 + (part.kind === 'signed' ? part.thoughts.length : 0),
    0,
  );
  if (count <= maxHistoryParts) return history;
  throw new AppError('invalid_value', `contents has more than ${maxHistoryParts} calls and thoughts.`, {
    param: 'contents',
  });
}

function elementsIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? listOf(value) : [value];
}

/** Reads a step of the model: its successive contents, since SDKs keep each piece of a stream as one. */
class StepReader {
  #hasCalls = false;
  #thoughts: PartPlace[] = [];

  begin(): void {
    this.#hasCalls = false;
    this.#thoughts = [];
  }

  read(part: Fields, place: PartPlace): HistoryPart | null {
    if (isKeepAlive(part)) return { ...place, kind: 'keep-alive' };
    const signed = signedPart(part, place, this.#thoughts);
    const isCall = callIn(part) !== null;
    if (part['thought'] === true && !isCall && signaturesIn(part).length === 0) {
      this.#thoughts.push(place);
      return null;
    }
    this.#thoughts = [];
    const isFirstCall = isCall && !this.#hasCalls;
    this.#hasCalls ||= isCall;
    if (signed !== null || !isFirstCall || signaturesIn(part).length > 0) return signed;
    return { ...place, kind: 'unsigned-call' };
  }
}

function signedPart(part: Fields, place: PartPlace, thoughts: readonly PartPlace[] = []): HistoryPart | null {
  const texts = signaturesIn(part).filter((thoughtSignature) => isSigned({ thoughtSignature }));
  if (texts.length === 0) return null;
  const { thoughtSignature: _camel, thought_signature: _snake, ...others } = part;
  const isBare = callIn(part) === null && (part['thought'] === true || isBlank(others));
  const signatures = texts.map((text) => signatureTextIn(text) ?? '');
  return { ...place, kind: 'signed', signatures, isBare, thoughts };
}

/** Signatures in either spelling, those of stand-ins included. */
function signaturesIn(part: Fields): string[] {
  const values = [part['thoughtSignature'], part['thought_signature']];
  return values.filter((value): value is string => typeof value === 'string' && value !== '');
}
