import { hits, type Candidate, type Shape, type Verdict } from './shape.ts';
import { before, endsNumber, fits, matchIf, startsNumber } from './tokens.ts';

/** Characters before a number in which a word for it may be. */
const wordDistance = 48;

const ssnWord = /(?:ssn|social[\s_-]*security)[^\d\n]{0,24}$/i;

/** Numbers printed in advertisements, which the Social Security Administration has withdrawn. */
const withdrawnSsns = new Set(['078051120', '219099999']);

/** Social security numbers of the United States: with hyphens, or beside a word for one. */
export const usSsn: Shape = {
  type: 'us_ssn',
  next: hits(/\d/g),
  at(text, start, ended) {
    if (!startsNumber(text, start)) return null;
    const hasWord = ssnWord.test(before(text, start, wordDistance));
    const templates = hasWord ? ['ddd-dd-dddd', 'ddd dd dddd', 'ddddddddd'] : ['ddd-dd-dddd'];
    return firstFit({ text, start, ended }, templates, isSsn);
  },
};

/** Whether an area, a group and a serial number may have been issued. */
function isSsn(digits: string): boolean {
  const isVoid = /^(?:000|666|9)|^...00|0000$/.test(digits);
  return !isVoid && !withdrawnSsns.has(digits);
}

const citizenWord =
  /(?:cccd|cmnd|cmt|căn cước|chứng minh|citizen id|identity card|id card|số định danh)[^\d\n]{0,32}$/iu;

/** Words before other numbers. */
const otherWord =
  /(?:order|invoice|tracking|account|đơn hàng|mã đơn|vận đơn|hóa đơn|tài khoản)[^\d\n]{0,12}$/iu;

/** Codes of provinces in citizen numbers (Circular 59/2021/TT-BCA). */
const provinces = new Set(
  (
    '001 002 004 006 008 010 011 012 014 015 017 019 020 022 024 025 026 027 030 031 033 034 035 036 037 038 040 ' +
    '042 044 045 046 048 049 051 052 054 056 058 060 062 064 066 067 068 070 072 074 075 077 079 080 082 083 084 ' +
    '086 087 089 091 092 093 094 095 096'
  ).split(' '),
);

/** Citizen numbers of Viet Nam (12 digits), and the older ones of 9 digits beside a word for one. */
export const vnCitizenId: Shape = {
  type: 'vn_citizen_id',
  next: hits(/\d/g),
  at(text, start, ended) {
    if (!startsNumber(text, start)) return null;
    const context = before(text, start, wordDistance);
    if (otherWord.test(context) || text[start - 1] === '/') return null;
    const hasWord = citizenWord.test(context);
    const grouped = ['ddd ddd dddddd', 'dddd dddd dddd', 'ddd ddd ddd ddd', 'ddddddddd', 'ddd ddd ddd'];
    const templates = hasWord ? ['dddddddddddd', ...grouped] : ['dddddddddddd'];
    return firstFit({ text, start, ended }, templates, isCitizenId);
  },
};

/** Whether a number has the code of a province, a century and a past year of birth; 9 digits have no proof. */
function isCitizenId(digits: string): boolean {
  if (digits.length === 9) return true;
  const century = Math.floor(Number(digits.charAt(3)) / 2);
  const year = 1900 + 100 * century + Number(digits.slice(4, 6));
  return provinces.has(digits.slice(0, 3)) && century <= 1 && year <= new Date().getUTCFullYear();
}

/** The verdict by the first fitting template. Undecided while one may fit. */
function firstFit(
  { text, start, ended }: Candidate,
  templates: readonly string[],
  isIssued: (digits: string) => boolean,
): Verdict {
  for (const template of templates) {
    const fit = fits(template, text, start);
    if (fit === 'undecided' && !ended) return fit;
    if (fit !== true) continue;
    const end = start + template.length;
    const ends = endsNumber(text, end, ended);
    if (ends !== false)
      return isIssued(text.slice(start, end).replaceAll(/\D/g, '')) ? matchIf(ends, start, end) : null;
  }
  return null;
}
