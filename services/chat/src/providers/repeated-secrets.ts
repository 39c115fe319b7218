import { pipeline, Transform, type Readable, type TransformCallback } from 'node:stream';

/** Headers with the proof of a call in their values. Others beside them, like versions and dates, are no secrets. */
const secretHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'x-amz-security-token'];
/** Shorter values are no keys, and would be found in words. */
const shortestSecret = 8;
const mark = '[key]';

/** The secrets in the headers of a call's proof: their values, without the name of a scheme. */
export function secretsIn(proof: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries(proof)
    .filter(([name]) => secretHeaders.includes(name.toLowerCase()))
    .map(([, value]) => value.replace(/^Bearer +/i, ''))
    .filter(({ length }) => length >= shortestSecret);
}

/** A text of a provider without the secrets it repeats: as they are, or with characters escaped as JSON allows. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    // Only a text with escapes can hold another form of it.
    const written = clean.includes('\\') ? new RegExp(escapedForms(secret), 'g') : secret;
    clean = clean.replaceAll(written, mark);
  }
  return clean;
}

/** The same for bytes, which stay as they are if they repeat no secret. */
export function bytesWithoutSecrets(bytes: Buffer, secrets: readonly string[]): Buffer {
  const text = bytes.toString('utf8');
  const clean = withoutSecrets(text, secrets);
  return clean === text ? bytes : Buffer.from(clean);
}

/** The same of a stream, with no more in memory than a chunk and the longest form of a secret. */
export function streamWithoutSecrets(body: Readable, secrets: readonly string[]): Readable {
  // The reader gets the error of either.
  return secrets.length === 0 ? body : pipeline(body, new SecretFilter(secrets), () => undefined);
}

/** Reads bytes as Latin-1, in which each is one character, so all others stay as they are. */
class SecretFilter extends Transform {
  readonly #pattern: RegExp;
  readonly #longest: number;
  /** The end of the text so far, in which a secret may begin. */
  #open = '';

  constructor(secrets: readonly string[]) {
    super();
    const written = secrets.map((secret) => Buffer.from(secret).toString('latin1'));
    this.#pattern = new RegExp(written.map(escapedForms).join('|'), 'g');
    this.#longest = escapeChars * Math.max(...written.map(({ length }) => length));
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    done(null, this.#passed(chunk.toString('latin1'), this.#longest - 1));
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#passed('', 0));
  }

  /** The text without any secret, but for its last `retained` characters, in which one may be incomplete. */
  #passed(added: string, retained: number): Buffer {
    const text = this.#open + added;
    const until = Math.max(0, text.length - retained);
    let clean = '';
    let from = 0;
    for (const { index, 0: match } of text.matchAll(this.#pattern)) {
      if (index >= until) break;
      clean += text.slice(from, index) + mark;
      from = index + match.length;
    }
    const end = Math.max(from, until);
    clean += text.slice(from, end);
    this.#open = text.slice(end);
    return Buffer.from(clean, 'latin1');
  }
}

/** The length of `\u002b`. */
const escapeChars = 6;

/** A pattern of a text in which each character is as it is, or escaped. */
function escapedForms(secret: string): string {
  const characters = Array.from(secret, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    const literal = character.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
    return String.raw`(?:\\?${literal}|\\u(?:${code}|${code.toUpperCase()}))`;
  });
  return characters.join('');
}
