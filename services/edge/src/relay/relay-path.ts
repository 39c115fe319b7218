import { isClosedToRelay } from '@gatehouse/contract/operator-surface';
import { AppError } from '@gatehouse/kit/errors';

/**
 * Checks the path behind the relay: without query and percent-encoded, as it was sent. Throws `relay_forbidden` if any
 * reading of it leads under `/internal` or to the operator surface, otherwise `relay_path_ambiguous` if it has more
 * than one reading. Every server reads a path in the same way once it passes.
 */
export function checkRelayPath(method: string, path: string): void {
  const stages = decodings(path, (text) => text);
  // Folding may produce new escapes, from a fullwidth percent sign for example; they are decoded too.
  const texts = [...new Set([...stages.map(fold), ...decodings(path, fold)])];
  const closed = texts.flatMap(readings).some((reading) => isClosedToRelay(method, reading));
  if (closed) throw relayForbidden();
  const [, ...further] = stages.slice(1);
  if (further.length > 0 || !isDecodable(path) || texts.some((text) => plain(text) !== text)) {
    throw new AppError(
      'relay_path_ambiguous',
      'The relay accepts only unambiguous paths: without dot segments, double slashes, backslashes, semicolons or double encoding.',
    );
  }
}

export function relayForbidden(): AppError {
  return new AppError('relay_forbidden', 'The browser relay gives no access to this endpoint.');
}

/** The text, and each step of decoding it again until nothing changes, at most eight times. `form` applies to all. */
function decodings(text: string, form: (text: string) => string): string[] {
  let last = form(text);
  const stages = [last];
  while (stages.length <= 8) {
    const next = form(decode(last));
    if (next === last) break;
    stages.push(next);
    last = next;
  }
  return stages;
}

/** Decodes valid escapes and keeps the rest, where `decodeURIComponent` would throw. */
function decode(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) =>
    Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** In compatibility form (NFKC, UAX #15) and lower case. */
function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

const slashed = (text: string): string => text.replaceAll('\\', '/');
const withoutParameters = (text: string): string => text.replaceAll(/;[^/]*/g, '');
const withoutQuery = (text: string): string => text.replace(/[?#].*$/s, '');

/** A path as the most lenient server would read it. */
function plain(text: string): string {
  return resolve(withoutParameters(slashed(text)));
}

/** Removes dot segments (RFC 3986 §5.2.4) and empty ones. */
function resolve(path: string): string {
  const parameters: string[] = [];
  const segments = path.split('/');
  for (const segment of segments) {
    if (segment === '..') parameters.pop();
    else if (segment !== '' && segment !== '.') parameters.push(segment);
  }
  const ending = parameters.length > 0 && ['', '.', '..'].includes(segments.at(-1) ?? '') ? '/' : '';
  return `/${parameters.join('/')}${ending}`;
}

/** All readings of a path, from the literal one to the most lenient server's. */
function readings(text: string): string[] {
  // URL parsers drop some control characters, and a C string ends at the first NUL.
  const printable = text.replaceAll(/[\0-\x20\x7f]/g, '');
  return [...new Set([text, printable])].flatMap((path) => {
    const whole = [path, slashed(path), withoutParameters(slashed(path))];
    const resolved = new Set([...whole, ...new Set(whole.map(resolve))]);
    return [...resolved, ...[...resolved].map(withoutQuery)];
  });
}
