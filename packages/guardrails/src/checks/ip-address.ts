import { addressOf, isPublic } from '@gatehouse/egress/special-ranges';
import type { Candidate, Shape, Verdict } from './shape.ts';
import { before, endsNumber, isDigitAt, matchIf, runEnd, startsNumber, startsToken } from './tokens.ts';

const quad = /\d{1,3}(?:\.\d{0,3}){0,3}/y;
const wholeQuad = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** Global unicast, the only public addresses of IPv6, are those of `2000::/3` and have four digits in front. */
const groups = /[23][\dA-Fa-f]{3}:[\dA-Fa-f:]{0,40}/y;
const partialGroups = /[23][\dA-Fa-f]{0,3}$/y;

/** The fewest groups of an IPv6 address in writing: C++ has names like `2024::x`. */
const fewestGroups = 3;

/** Text before a version or a section in the form of an IPv4 address. */
const versionWord =
  /(?:version|ver|release|build|firmware|driver|update|upgrade|assembly|nuget|package|section|chapter|clause|paragraph|phiên bản|mục|điều)s?[\s"'`:=(]*(?:v|is|to|from|no\.?)?[\s"'`:=(]*$|(?:[=~<>^]=|[~^@§]|\bv\.?|[A-Za-z]\/)\s*$/iu;

/** Text beside a short address: a scheme, or a word for one. */
const addressWord =
  /(?:\/\/|\b(?:ip|ipv4|address|host|server|dns|nameserver|resolver|ping|peer|client|from|to|at)\b[\s"'`:=(]*)$/i;

/** Public addresses of IPv4 and IPv6; no private ranges, no ranges for documentation, no versions. */
export const ipAddress: Shape = { type: 'ip_address', next, at };

function next(text: string, from: number): number {
  for (let index = from; index < text.length; index += 1) {
    if (isDigitAt(text, index) && startsToken(text, index)) return index;
  }
  return -1;
}

function at(text: string, start: number, ended: boolean): Verdict {
  const longer = runEnd(groups, text, start);
  if (longer > start) return addressOfGroups({ text, start, ended }, longer);
  if (!ended && runEnd(partialGroups, text, start) === text.length) return 'undecided';
  if (!startsNumber(text, start)) return null;
  const end = runEnd(quad, text, start);
  if (!ended && end === text.length) return 'undecided';
  const value = text.slice(start, end);
  if (!wholeQuad.test(value) || !isPublicText(value) || isVersion(text, start, value)) return null;
  // Versions with a suffix, as in `1.2.3.4+build`.
  if (text[end] === '+') return null;
  return matchIf(endsNumber(text, end, ended), start, end);
}

function addressOfGroups({ text, start, ended }: Candidate, run: number): Verdict {
  if (!ended && run === text.length) return 'undecided';
  let end = run;
  if (text[end - 1] === ':' && text[end - 2] !== ':') end -= 1;
  const value = text.slice(start, end);
  const isLong = value.split(':').filter((group) => group !== '').length >= fewestGroups;
  if (!isLong || text[start - 1] === ':' || !isPublicText(value)) return null;
  return matchIf(endsNumber(text, end, ended), start, end);
}

function isPublicText(value: string): boolean {
  const address = addressOf(value);
  return address !== null && isPublic(address);
}

/** Whether four numbers are a version: by the text before them, or because they all have one digit. */
function isVersion(text: string, start: number, value: string): boolean {
  const context = before(text, start, 40);
  if (versionWord.test(context)) return true;
  const isShort = value.length === 7 && new Set(value.split('.')).size > 1;
  return isShort && !addressWord.test(context);
}
