import { digitGroups, type Grouping } from './digit-groups.ts';
import type { Shape, Verdict } from './shape.ts';
import { before, endsNumber, isDigitAt, matchIf, startsNumber } from './tokens.ts';

/** Issuers by the first digits of their cards, with the lengths of these (ISO/IEC 7812). */
const issuers: readonly { prefix: RegExp; lengths: readonly number[] }[] = [
  { prefix: /^4/, lengths: [16, 19] }, // Visa
  { prefix: /^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, lengths: [16] }, // Mastercard
  { prefix: /^3[47]/, lengths: [15] }, // American Express
  { prefix: /^(?:6011|64[4-9]|65)/, lengths: [16, 19] }, // Discover
  { prefix: /^3(?:0[0-59]|[689])/, lengths: [14] }, // Diners Club
  { prefix: /^35(?:2[89]|[3-8])/, lengths: [16] }, // JCB
  { prefix: /^62/, lengths: [16, 17, 18, 19] }, // UnionPay
  { prefix: /^220[0-4]/, lengths: [16] }, // Mir
  { prefix: /^9704/, lengths: [16, 19] }, // NAPAS
  { prefix: /^(?:60|8[12]|508)/, lengths: [16] }, // RuPay
  { prefix: /^(?:5018|5020|5038|5893|6304|6759|676[1-3])/, lengths: [13, 16, 18, 19] }, // Maestro
];

const grouping: Grouping = { separators: /[ .\-\u2010-\u2013]/y, longest: 20 };

/** Digits of the first groups by which an issuer is known. */
const prefixDigits = 4;

/** The most groups of a card. */
const mostGroups = 5;

/** Words before other numbers. Longer numbers of orders pass Luhn's check one in ten times. */
const otherNumber =
  /(?:order|invoice|tracking|shipment|parcel|ticket|transaction|reference|ref|serial|batch|sku|imei|isbn|ean|gtin|uuid|message|đơn hàng|mã đơn|vận đơn|hóa đơn)[\s_-]*(?:id|no|nr|num|number|code|ref|số)?["'\s]*[#:=.]*[\s"'#]*$/iu;

/** Cards by issuer, length and Luhn's checksum, with the digits together or in groups of a card. */
export const creditCard: Shape = { type: 'credit_card', next, at };

function next(text: string, from: number): number {
  for (let index = from; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code >= 50 && code <= 57 && startsNumber(text, index)) return index;
  }
  return -1;
}

function at(text: string, start: number, ended: boolean): Verdict {
  const { digits, ends, isAtEnd } = digitGroups(text, start, grouping);
  const known = issuers.filter(({ prefix }) => prefix.test(digits));
  if (known.length === 0 && digits.length >= prefixDigits) return null;
  const groups = cardGroups(ends);
  if (isAtEnd && !ended && groups.length === ends.length) return 'undecided';
  for (const { end, count } of groups.toReversed()) {
    if (!known.some(({ lengths }) => lengths.includes(count))) continue;
    if (!passesLuhn(digits.slice(0, count))) continue;
    const isPlain = count === ends[0]?.count;
    if (isPlain && isOther(text, start)) return null;
    return matchIf(endsNumber(text, end, ended), start, end);
  }
  return null;
}

/** The first groups, as many as a card may have: 4 or 6 digits and then at least three each, or all digits together. */
function cardGroups(ends: { end: number; count: number }[]): { end: number; count: number }[] {
  const first = ends[0]?.count ?? 0;
  if (first !== 4 && first !== 6) return ends.slice(0, 1);
  const size = (index: number) => (ends[index]?.count ?? 0) - (ends[index - 1]?.count ?? 0);
  let last = 1;
  while (last < Math.min(ends.length, mostGroups) && size(last - 1) >= 3) last += 1;
  return ends.slice(0, last);
}

/** Whether plain digits are a part of a path, or follow a word for another kind of number. */
function isOther(text: string, start: number): boolean {
  return text[start - 1] === '/' || otherNumber.test(before(text, start, 48));
}

/** The checksum of ISO/IEC 7812-1, annex B. */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = digits.length - 1, doubled = false; at >= 0; at -= 1, doubled = !doubled) {
    if (!isDigitAt(digits, at)) return false;
    const digit = Number(digits[at]) * (doubled ? 2 : 1);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0;
}
