import { literals } from './literals.ts';
import type { Shape } from './shape.ts';
import { runEnd, startsToken } from './tokens.ts';

const part = /[A-Za-z0-9_-]*/y;

/** The longest header to read whole. A longer one is known by its beginning. */
const longestHeader = 200;

/** Characters of the second part by which a token is no shortened example. */
const payloadProof = 16;

/** JSON Web Tokens (RFC 7519), signed or encrypted: a header with an algorithm, and a second part. */
export const jwt: Shape = {
  type: 'jwt',
  // The base64 of `{"`.
  next: literals(['eyJ']),

  at(text, start, ended) {
    if (!startsToken(text, start)) return null;
    const header = runEnd(part, text, start);
    if (header - start > longestHeader) {
      const end = start + longestHeader;
      return namesAlgorithm(decode(text.slice(start, end))) ? { start, end, hasRest: true } : null;
    }
    if (header >= text.length) return ended ? null : 'undecided';
    if (text[header] !== '.' || !namesAlgorithm(decode(text.slice(start, header)))) return null;
    const end = header + 1 + payloadProof;
    if (runEnd(part, text, header + 1) >= end) return { start, end, hasRest: true };
    return !ended && runEnd(part, text, header + 1) === text.length ? 'undecided' : null;
  },

  rest: (text, end) => runEnd(/[A-Za-z0-9_.-]*/y, text, end),
};

function decode(text: string): string {
  return Buffer.from(text, 'base64url').toString('latin1');
}

/** Whether a header, which may be cut, has an algorithm (RFC 7515, section 4.1.1). */
function namesAlgorithm(header: string): boolean {
  return /^\{.*"(?:alg|enc)"\s*:\s*"/s.test(header);
}
