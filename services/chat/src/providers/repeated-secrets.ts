/** The headers whose values prove a call. Others that go with them, such as versions and dates, are no secrets. */
const secretHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'x-amz-security-token'];
/** Shorter values are no keys, and would be found in words. */
const shortestSecret = 8;
const mark = '[key]';

/** The secrets in the headers that prove a call: their values, without the name of a scheme. */
export function secretsIn(proof: Readonly<Record<string, string>>): string[] {
  return Object.entries(proof)
    .filter(([name]) => secretHeaders.includes(name.toLowerCase()))
    .map(([, value]) => value.replace(/^Bearer +/i, ''))
    .filter(({ length }) => length >= shortestSecret);
}

/** A text of a provider without the secrets that it repeats: as they are, or with characters escaped as JSON allows. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    clean = clean.replaceAll(secret, mark);
    // Only a text with escapes can hold another form of it.
    if (clean.includes('\\')) clean = clean.replaceAll(escapedForms(secret), mark);
  }
  return clean;
}

/** The same of bytes, which stay as they are if they repeat none. */
export function bytesWithoutSecrets(bytes: Buffer, secrets: readonly string[]): Buffer {
  const text = bytes.toString('utf8');
  const clean = withoutSecrets(text, secrets);
  return clean === text ? bytes : Buffer.from(clean);
}

/** Matches a text in which each character is as it is, or escaped. */
function escapedForms(secret: string): RegExp {
  const characters = Array.from(secret, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    const literal = character.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
    return String.raw`(?:\\?${literal}|\\u(?:${code}|${code.toUpperCase()}))`;
  });
  return new RegExp(characters.join(''), 'g');
}
