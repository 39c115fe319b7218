import { isClosedToRelay } from '@gatehouse/contract/operator-surface';
import { AppError } from '@gatehouse/kit/errors';

const maxDecodings = 8;

/**
 * Checks the path a relayed request is for: without query and percent-encoded, as it was sent.
 * Throws `relay_forbidden` if any way to read it leads under `/internal` or to the operator surface, and otherwise
 * `relay_path_ambiguous` if there is more than one way to read it. A path that passes means the same to everybody.
 */
export function checkRelayPath(method: string, path: string): void {
  const stages = decodings(path, (text) => text);
  // What folding uncovers, such as a fullwidth percent sign, is decoded too.
  const texts = [...new Set([...stages.map(fold), ...decodings(path, fold)])];
  const closed = texts.flatMap(readings).some((reading) => isClosedToRelay(method, reading));
  if (closed) throw relayForbidden();
  const [, ...further] = stages.slice(1);
  if (further.length > 0 || !isDecodable(path) || texts.some((text) => plain(text) !== text)) {
    throw new AppError(
      'relay_path_ambiguous',
      'The relay takes only paths that can be read in one way: without dot segments, double slashes, backslashes, semicolons, or what is encoded twice.',
    );
  }
}

export function relayForbidden(): AppError {
  return new AppError('relay_forbidden', 'The browser relay does not reach this endpoint.');
}

/** The text in some form, and what each decoding makes of it until nothing changes: at most eight. */
function decodings(text: string, form: (text: string) => string): string[] {
  let last = form(text);
  const stages = [last];
  while (stages.length <= maxDecodings) {
    const next = form(decode(last));
    if (next === last) break;
    stages.push(next);
    last = next;
  }
  return stages;
}

/** Decodes what can be decoded and leaves the rest, where `decodeURIComponent` would throw. */
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

/** Compatible forms of a letter as one (UAX #15), in lower case. */
function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

const slashed = (text: string): string => text.replaceAll('\\', '/');
const withoutParameters = (text: string): string => text.replaceAll(/;[^/]*/g, '');
const withoutQuery = (text: string): string => text.replace(/[?#].*$/s, '');

/** A path as the most obliging server would read it. */
function plain(text: string): string {
  return resolve(withoutParameters(slashed(text)));
}

/** Without dot segments (RFC 3986 §5.2.4) and empty ones. */
function resolve(path: string): string {
  const kept: string[] = [];
  const segments = path.split('/');
  for (const segment of segments) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  const ending = kept.length > 0 && ['', '.', '..'].includes(segments.at(-1) ?? '') ? '/' : '';
  return `/${kept.join('/')}${ending}`;
}

/** A path from as it stands to what the most obliging server makes of it. */
function readings(text: string): string[] {
  // URL parsers drop some of these, and C ends at the first.
  const printable = text.replaceAll(/[\0-\x20\x7f]/g, '');
  return [...new Set([text, printable])].flatMap((path) => {
    const whole = [path, slashed(path), withoutParameters(slashed(path))];
    const resolved = new Set([...whole, ...new Set(whole.map(resolve))]);
    return [...resolved, ...[...resolved].map(withoutQuery)];
  });
}
