import { parse } from 'tldts';
import { longestCandidate, type Shape, type Verdict } from './shape.ts';
import { before, runEnd } from './tokens.ts';

/** The most characters of the part before the `@` (RFC 5321, section 4.5.3.1.1). */
const longestLocal = 64;

/** Letters of ASCII and of Latin scripts. Scripts without spaces end an address. */
const localCharacter = /[A-Za-z0-9._+\-\u00c0-\u024f\u1e00-\u1eff]/;
const domainRun = /[A-Za-z0-9.\-\u00c0-\u024f\u1e00-\u1eff]*/y;

/** An `@`, also percent-encoded as in query strings. */
const sign = /@|%40/g;
const signAtStart = /(?:@|%40)/y;
const partialSign = /%4?$/;

/** The letters of an escape in JSON inside JSON, of which the run before holds only the backslash. */
const escapeLetters = /(?:u[\dA-Fa-f]{4}|[nrtbf])/y;

/** A user name inside a URL, and addresses of hosts for ssh. */
const userinfo = /:\/\/[^\s/?#"'<>]*$/;

/** E-mail addresses at registered domains. Domains for examples (RFC 2606) and `git@host:` are no matches. */
export const email: Shape = { type: 'email', next, at };

function next(text: string, from: number): number {
  sign.lastIndex = from;
  for (let hit = sign.exec(text); hit; hit = sign.exec(text)) {
    const start = localStart(text, hit.index);
    if (start >= from) return start;
  }
  const end = text.length - (partialSign.exec(text.slice(-2))?.[0].length ?? 0);
  const start = localStart(text, end);
  return start >= from ? start : -1;
}

/** The beginning of the part before an `@` at `end`; -1 if it is absent or too long. */
function localStart(text: string, end: number): number {
  let start = end;
  while (start > 0 && localCharacter.test(text.charAt(start - 1))) {
    start -= 1;
    if (end - start > longestLocal) return -1;
  }
  if (text[start - 1] === '\\') start = runEnd(escapeLetters, text, start);
  while (start < end && '._+-'.includes(text.charAt(start))) start += 1;
  return start < end ? start : -1;
}

function at(text: string, start: number, ended: boolean): Verdict {
  let end = start;
  while (end < text.length && localCharacter.test(text.charAt(end))) end += 1;
  const domain = runEnd(signAtStart, text, end);
  if (domain === end) return !ended && text.length - end <= 2 ? 'undecided' : null;
  const limit = start + longestCandidate - 2;
  let last = Math.min(runEnd(domainRun, text, domain), limit);
  if (!ended && last === text.length) return 'undecided';
  const isCut = last === limit;
  while (last > domain && '.-'.includes(text.charAt(last - 1))) last -= 1;
  if (text[last] === ':' && !isCut) {
    if (!ended && last + 1 === text.length) return 'undecided';
    const isHost = text.startsWith('git', start) && domain === start + 4;
    if (isHost || text[last + 1] === '/' || text[last + 1] === '~') return null;
  }
  const isInLongerToken = text[start - 1] === '@' || text[last] === '@';
  if (isInLongerToken || userinfo.test(before(text, start, 120))) return null;
  return isAddressDomain(text.slice(domain, last)) ? { start, end: last } : null;
}

/** Whether people have addresses at a domain: it is registered below a public suffix, and not for examples. */
function isAddressDomain(domain: string): boolean {
  // Versions, as in `package@1.2.3-rc.ai`.
  if (domain.length > 253 || /^v?\d+\.\d/.test(domain) || domain.includes('..')) return false;
  const { isIcann, domainWithoutSuffix } = parse(domain);
  return isIcann === true && domainWithoutSuffix !== null && domainWithoutSuffix !== 'example';
}
