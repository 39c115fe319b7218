import { isValidPhoneNumber, parsePhoneNumberFromString, type CountryCode } from 'libphonenumber-js/max';
import { digitGroups, type DigitGroups, type Grouping } from './digit-groups.ts';
import type { Candidate, Shape, Verdict } from './shape.ts';
import { before, endsNumber, isDigitAt, matchIf, startsNumber } from './tokens.ts';

/** The longest number of ITU-T E.164, with its country code. */
const longestNumber = 15;

/** The shortest number to look up. */
const shortestNumber = 7;

/** At most so many ends of a candidate are looked up, from the last one on. */
const mostParses = 4;

const grouping: Grouping = {
  separators: /(?:\)[ -]?|[ -]?\(|[ .\-/\u2010-\u2013])/y,
  longest: longestNumber + 1,
};

/** Words before a telephone number. */
const phoneWord =
  /(?:phone|tel|mobile|mob|cell|fax|call|sms|whatsapp|zalo|viber|telegram|hotline|telefon|telefono|teléfono|téléphone|móvil|handy|portable|sđt|sdt|đt|điện thoại|di động|liên hệ|gọi)(?![\p{L}\d])[^\d\n]{0,16}$/iu;

/** Digits before a candidate, which may be their continuation: the scan has tried them. */
const earlierNumber = /(?:^|[^\d])[0(+]\d*\)?[ .\-/]$/;

/** Dates, IPv4 addresses and versions, which digits with separators may also be. */
const otherNumber =
  /^(?:\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{4}|\d{1,3}(?:\.\d{1,3}){3}(?![.\d])|\d{1,2}(?:\.\d{1,2}){2,3}(?![.\d]))/;

/**
 * Telephone numbers, valid by Google's metadata: with `+` and a country code, and in the national form of
 * `regions` if the digits have separators or follow a word for a telephone.
 */
export function phone(regions: readonly CountryCode[]): Shape {
  return {
    type: 'phone',
    next: regions.length === 0 ? nextPlus : nextNumber,
    at: (text, start, ended) => at({ text, start, ended }, regions),
  };
}

function nextPlus(text: string, from: number): number {
  return text.indexOf('+', from);
}

function nextNumber(text: string, from: number): number {
  for (let index = from; index < text.length; index += 1) {
    if (isDigitAt(text, index) ? startsNumber(text, index) : isOpening(text, index)) return index;
  }
  return -1;
}

function isOpening(text: string, index: number): boolean {
  return text[index] === '+' || text[index] === '(';
}

function at({ text, start, ended }: Candidate, regions: readonly CountryCode[]): Verdict {
  if (!startsNumber(text, start)) return null;
  const isInternational = text[start] === '+';
  // In base64, `+` is a digit; in a path, a number is an id.
  if (text[start - 1] === '/' || text[start - 1] === '+') return null;
  const first = isOpening(text, start) ? start + 1 : start;
  if (first < text.length && !isDigitAt(text, first)) return null;
  const { digits, ends, isAtEnd } = digitGroups(text, first, grouping);
  if (isAtEnd && !ended && digits.length < grouping.longest) return 'undecided';
  const form = isInternational ? 'international' : nationalForm(text, start, ends);
  if (form === null) return null;
  const plausible = ends.filter(({ count }) => count >= shortestNumber && count <= longestNumber);
  for (const { end, count } of plausible.toReversed().slice(0, mostParses)) {
    const isLast = end === ends.at(-1)?.end;
    if (!isLast && text[end] === '-') continue;
    const value = text.slice(start, end);
    const isValid =
      form === 'international'
        ? isValidPhoneNumber(value)
        : regions.some((region) => isNational({ value, digits: digits.slice(0, count) }, region, form));
    if (isValid) return matchIf(endsNumber(text, end, ended), start, end);
  }
  return null;
}

/**
 * The way in which digits without a country code look like a telephone number: beside a word for one, or grouped as
 * one; null if they don't.
 */
function nationalForm(text: string, start: number, ends: DigitGroups['ends']): 'named' | 'grouped' | null {
  if (otherNumber.test(text.slice(start, ends.at(-1)?.end))) return null;
  if (phoneWord.test(before(text, start, 40))) return 'named';
  // Longer rows of numbers are no telephone's, and only the first one of a row with zeros in front may be.
  if ((ends.at(-1)?.count ?? 0) > longestNumber || earlierNumber.test(before(text, start, 20))) return null;
  const isTrunk = isOpening(text, start) || text[start] === '0';
  const isGrouped = ends.length >= (isTrunk ? 2 : 3) && (!isTrunk || (ends[0]?.count ?? 0) >= 2);
  return isGrouped ? 'grouped' : null;
}

/** Whether a number is valid in a country and, without a word beside it, written with the prefix of national calls. */
function isNational(
  { value, digits }: { value: string; digits: string },
  region: CountryCode,
  form: 'named' | 'grouped',
): boolean {
  const number = parsePhoneNumberFromString(value, region);
  if (!number?.isValid()) return false;
  if (form === 'named' || digits.startsWith('00')) return true;
  const national = number.formatNational().replaceAll(/\D/g, '');
  return digits === national || digits === `1${national}`;
}
